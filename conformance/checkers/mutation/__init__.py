"""Checkers of the mutation profile, one per live requirement, over one index of a mutation-host history."""

from conformance.checkers.mutation import (
    fingerprint,
    gate,
    keys,
    lasting,
    namespaces,
    outcome,
    recovery,
    replays,
    retention,
    settlement,
)
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS

__all__ = [
    "CHECKERS",
    "Index",
    "fingerprint",
    "gate",
    "keys",
    "lasting",
    "namespaces",
    "outcome",
    "recovery",
    "replays",
    "retention",
    "settlement",
]
