"""Everything that the kill matrix runs: the plantings of the reference, and the lazy drivers for each family."""

from __future__ import annotations

from collections.abc import Callable

from conformance.carriers.base import Carrier
from conformance.carriers.inprocess import InProcessCarrier
from conformance.families import FAMILIES
from conformance.lazy import LAZY, LazyCarrier
from conformance.mutants import Suspect


def reference() -> Carrier:
    """The reference itself: what it meets decides which schedules the suspects run."""
    from reference_impl.driver import Reference  # noqa: PLC0415

    return InProcessCarrier("reference", Reference)


def all_suspects() -> list[Suspect]:
    """Deviations, variants and lazy drivers, in this order."""
    # The reference is a driver like any other: the suite meets it only here and where it is asked for by name.
    from reference_impl.deviations import DEVIATIONS, PENDING  # noqa: PLC0415
    from reference_impl.planting import Planted  # noqa: PLC0415
    from reference_impl.variants import VARIANTS  # noqa: PLC0415

    def carrier(planted: Planted) -> Callable[[], Carrier]:
        return lambda: InProcessCarrier(planted.id, planted.implementation())

    kinds = (("deviation", DEVIATIONS), ("variant", VARIANTS))
    planted = [
        Suspect(kind, p.id, p.names, p.purpose, p.family, carrier(p), p.readings, PENDING.get(p.id, ""))
        for kind, items in kinds
        for p in items
    ]
    return planted + [
        Suspect("lazy", name, family, "claims everything and does nothing", family, _lazy(name, family))
        for family in FAMILIES
        for name in LAZY
    ]


def _lazy(name: str, family: str) -> Callable[[], Carrier]:
    return lambda: LazyCarrier(name, (family,), FAMILIES[family].lazy)
