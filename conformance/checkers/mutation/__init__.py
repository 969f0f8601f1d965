"""Checkers of the mutation profile, one per live requirement, over one index of a mutation-host history."""

from conformance.checkers.mutation import (
    evidence,
    fingerprint,
    gate,
    keys,
    lasting,
    namespaces,
    observing,
    outcome,
    recovery,
    replays,
    retention,
    settlement,
    shape,
    tables,
    unanchored,
    uncertain,
)
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS

__all__ = [
    "CHECKERS",
    "Index",
    "evidence",
    "fingerprint",
    "gate",
    "keys",
    "lasting",
    "namespaces",
    "observing",
    "outcome",
    "recovery",
    "replays",
    "retention",
    "settlement",
    "shape",
    "tables",
    "unanchored",
    "uncertain",
]
