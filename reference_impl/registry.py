"""The reference and everything planted in it, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from conformance.kit import Implementation
from reference_impl.driver import Reference

if TYPE_CHECKING:
    from reference_impl.planting import Planted
REFERENCE = "reference"


class UnknownPlanting(LookupError):
    """No deviation or variant has this name."""


def planted(name: str) -> Planted:
    """The deviation or variant with this id; raises UnknownPlanting with the nearest name."""
    # Imported late: a driver process of the plain reference starts faster without them.
    from reference_impl.deviations import DEVIATIONS  # noqa: PLC0415
    from reference_impl.variants import VARIANTS  # noqa: PLC0415

    known = {p.id: p for p in (*DEVIATIONS, *VARIANTS)}
    if name not in known:
        import difflib  # noqa: PLC0415

        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(known))}"
        raise UnknownPlanting(f"the reference has no deviation or variant {name!r}{hint}")
    return known[name]


def implementation(name: str) -> Callable[[], Implementation]:
    """A maker of ``reference``, or of the reference with this planting."""
    return Reference if name == REFERENCE else planted(name).implementation()
