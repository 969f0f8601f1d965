"""Checkers of settle lanes, one per live requirement, over one index of a settle-lanes history."""

from conformance.checkers.settle import (
    claims,
    conserve,
    cycles,
    deliveries,
    facts,
    leases,
    marks,
    members,
    modes,
    order,
    tables,
    window,
)
from conformance.checkers.settle.index import Index
from conformance.checkers.settle.registry import CHECKERS

__all__ = [
    "CHECKERS",
    "Index",
    "claims",
    "conserve",
    "cycles",
    "deliveries",
    "facts",
    "leases",
    "marks",
    "members",
    "modes",
    "order",
    "tables",
    "window",
]
