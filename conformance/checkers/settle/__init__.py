"""Checkers of settle lanes, one per live requirement, over one index of a settle-lanes history."""

from conformance.checkers.settle import claims, conserve, cycles, facts, marks, members, modes, order, window
from conformance.checkers.settle.index import Index
from conformance.checkers.settle.registry import CHECKERS

__all__ = ["CHECKERS", "Index", "claims", "conserve", "cycles", "facts", "marks", "members", "modes", "order", "window"]
