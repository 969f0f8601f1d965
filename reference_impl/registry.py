"""The reference and everything planted in it, by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from conformance.kit import Implementation
from reference_impl.deviations import DEVIATIONS
from reference_impl.driver import Reference
from reference_impl.planting import Planted
from reference_impl.variants import VARIANTS

REFERENCE = "reference"


class UnknownPlanting(LookupError):
    """No deviation or variant has this name."""


def planted(name: str) -> Planted:
    """The deviation or variant with this id; raises UnknownPlanting with the nearest name."""
    known = {p.id: p for p in (*DEVIATIONS, *VARIANTS)}
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(known))}"
        raise UnknownPlanting(f"the reference has no deviation or variant {name!r}{hint}")
    return known[name]


def implementation(name: str) -> Callable[[], Implementation]:
    """A maker of ``reference``, or of the reference with this planting."""
    return Reference if name == REFERENCE else planted(name).implementation()
