"""Checkers of the mutation profile, one per live requirement, over one index of a mutation-host history."""

from conformance.checkers.mutation import (
    anchor,
    cancel,
    deadline,
    provider,
    gate,
    keys,
    opening,
    outcome,
    permission,
    recovery,
    retention,
    settled,
)
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS

__all__ = [
    "CHECKERS",
    "Index",
    "anchor",
    "cancel",
    "deadline",
    "provider",
    "gate",
    "keys",
    "opening",
    "outcome",
    "permission",
    "recovery",
    "retention",
    "settled",
]
