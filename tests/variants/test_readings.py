"""The map from readings to variants is complete, and true in both directions."""

from __future__ import annotations

import pytest

from reference_impl.planting import Planted
from reference_impl.variants import VARIANTS
from statemachines.model import Reading
from statemachines.spec import load

SPEC = load()
BY_ID = {variant.id: variant for variant in VARIANTS}
READINGS: dict[str, Reading] = {f"{i.id}/{r.id}": r for i in SPEC.interpretations.values() for r in i.readings}
SHOWN = {name: reading for name, reading in READINGS.items() if reading.variant is not None}
TOUCHING = {
    f"{i.id}/{r.id}": r
    for i in SPEC.interpretations.values()
    if i.touches
    for r in i.readings
    if r.status in ("accepted", "declarable")
}


def test_ids_are_unique() -> None:
    assert len(BY_ID) == len(VARIANTS)


@pytest.mark.parametrize("name", SHOWN)
def test_the_variant_of_a_reading_exists_and_names_it(name: str) -> None:
    variant = BY_ID.get(str(SHOWN[name].variant))
    assert variant is not None, f"{name} names the variant {SHOWN[name].variant}, which does not exist"
    assert variant.names == name


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.id)
def test_a_variant_names_a_reading_or_a_choice_of_a_requirement(variant: Planted) -> None:
    about, _, choice = variant.names.partition("/")
    if about in SPEC.requirements:
        assert choice
        assert variant.readings == {}
    else:
        assert READINGS[variant.names].variant == variant.id
        assert READINGS[variant.names].status != "rejected"


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.id)
def test_a_variant_declares_its_reading_where_the_verdict_depends_on_it(variant: Planted) -> None:
    reading = READINGS.get(variant.names)
    about, _, choice = variant.names.partition("/")
    needed = reading is not None and (reading.status == "declarable" or bool(reading.unreachable))
    assert variant.readings == ({about: choice} if needed else {})


@pytest.mark.parametrize("name", TOUCHING)
def test_a_reading_that_touches_a_live_requirement_has_a_variant_or_a_reason(name: str) -> None:
    assert TOUCHING[name].variant or TOUCHING[name].note


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.id)
def test_a_variant_says_in_one_line_what_it_does(variant: Planted) -> None:
    assert variant.purpose.endswith(".")
    assert "\n" not in variant.purpose
