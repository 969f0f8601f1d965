"""Checkers of connector push, one per live requirement, over one index of a connector-push history."""

from conformance.checkers.push import attempt, claim, lease, locator, replay, writeback
from conformance.checkers.push.index import Index
from conformance.checkers.push.registry import CHECKERS

__all__ = ["CHECKERS", "Index", "attempt", "claim", "lease", "locator", "replay", "writeback"]
