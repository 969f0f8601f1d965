"""Checkers of the mutation profile, one per live requirement, over one index of a mutation-host history."""

from conformance.checkers.mutation import (
    admission,
    approvals,
    codes,
    gate,
    keys,
    outcome,
    recovery,
    retention,
    spending,
)
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS

__all__ = [
    "CHECKERS",
    "Index",
    "admission",
    "approvals",
    "codes",
    "gate",
    "keys",
    "outcome",
    "recovery",
    "retention",
    "spending",
]
