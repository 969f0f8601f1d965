"""Checkers of the mutation profile, one per live requirement, over one index of a mutation-host history."""

from conformance.checkers.mutation import gate, keys, outcome, recovery, retention, tables
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS

__all__ = ["CHECKERS", "Index", "gate", "keys", "outcome", "recovery", "retention", "tables"]
