"""Faults that really happened: each has one entry, and each planting that is named exists and is about that fault."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reference_impl.deviations import DEVIATIONS
from statemachines.field import Fault, field_faults
from statemachines.findings import SpecError
from statemachines.layout import default_root
from statemachines.spec import load

PLANTINGS = {p.id: p for p in DEVIATIONS}
#: What was probed in real libraries; a letter tells the faults of one probe apart.
PROBES = ("P1a", "P1b", "P2a", "P2b", "P3a", "P3b", "P4a", "P4b", "P4c", "P5a", "P5b", "P5c", "P6", "P7a", "P7b")


@pytest.fixture(scope="module")
def faults() -> tuple[Fault, ...]:
    return field_faults()


def test_each_fault_of_the_field_has_exactly_one_entry(faults: tuple[Fault, ...]) -> None:
    reviewed = [f"A{n:02}" for n in range(1, 49)]
    reported = [f"BR-{n:02}" for n in range(1, 41)]
    assert [fault.id for fault in faults] == [*reviewed, *reported, *PROBES, "P8", "P9", "P10", "D"]


def test_each_named_planting_exists_and_breaks_one_of_the_requirements(faults: tuple[Fault, ...]) -> None:
    planted = [fault for fault in faults if fault.deviation is not None]
    assert len(planted) > len(faults) / 2
    assert [f.deviation for f in planted if f.deviation not in PLANTINGS] == []
    assert [f.id for f in planted if PLANTINGS[str(f.deviation)].names not in f.requirements] == []


def test_each_requirement_is_one_and_those_of_a_planting_are_judged(faults: tuple[Fault, ...]) -> None:
    known = load().requirements
    assert [(f.id, r) for f in faults for r in f.requirements if r not in known] == []
    named = [PLANTINGS[f.deviation].names for f in faults if f.deviation is not None]
    assert [r for r in named if known[r].status != "live"] == []


def test_what_is_called_planned_in_a_reason_is_planned(faults: tuple[Fault, ...]) -> None:
    known = load().requirements
    wrong = []
    for fault in faults:
        for group in re.findall(r"((?:[A-Z]+-\d{3}(?:, | and )?)+)[^.:;A-Z]*\bplanned", fault.reason or ""):
            wrong += [(fault.id, r) for r in re.findall(r"[A-Z]+-\d{3}", group) if known[r].status != "planned"]
    assert wrong == []


def test_each_planting_from_the_field_says_which_fault_it_realises(faults: tuple[Fault, ...]) -> None:
    own = {name: p for name, p in PLANTINGS.items() if name.startswith("field-")}
    told = {(f.deviation, f.id) for f in faults if f.deviation in own}
    said = {
        (name, fault) for name, p in own.items() for fault in re.findall(r"[A-Z-]+\d*[a-z]?", p.purpose.split(":")[0])
    }
    assert own
    assert said == told


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"deviation": "client-retries", "reason": "none"}, "field.yaml"),
        ({"deviation": None}, "field.yaml"),
        ({"id": "A02"}, "spec-duplicate-id"),
        ({"requirements": []}, "field.yaml"),
    ],
)
def test_a_bad_file_is_refused_at_its_place(tmp_path: Path, change: dict[str, object], told: str) -> None:
    (tmp_path / "schema").symlink_to(default_root() / "schema")
    entry = {"id": "A01", "class": "It fails.", "requirements": ["MUT-015"], "deviation": "client-retries"}
    bad = {name: value for name, value in (entry | change).items() if value is not None}
    # JSON is YAML, and repeats a list where YAML would refer to it.
    text = json.dumps({"entries": [entry | {"id": "A02"}, bad]})
    (tmp_path / "field.yaml").write_text(text)
    with pytest.raises(SpecError, match=told):
        field_faults(tmp_path)
