"""The names under which the reference can be run: itself, and each deviation or variant planted in it."""

from __future__ import annotations

from collections.abc import Callable

from conformance.kit import Implementation
from reference_impl.deviations import DEVIATIONS
from reference_impl.driver import Reference

REFERENCE = "reference"


def implementation(name: str) -> Callable[[], Implementation]:
    """A maker of the implementation with this name; raises LookupError with a sentence when there is none."""
    if name == REFERENCE:
        return Reference
    for planted in DEVIATIONS:
        if planted.id == name:
            return planted.implementation()
    known = ", ".join(planted.id for planted in DEVIATIONS)
    raise LookupError(f"there is no implementation {name!r}; known are {REFERENCE} and {known}")
