"""The first settlement stands, and its class with it (MUT-046, MUT-049)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import TERMINAL
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.moments import duplicates, told
from conformance.checkers.mutation.registry import CHECKERS

_OTHERS: Final = frozenset({"recover", "host.cancel"})
#: Whether the late writer is the worker, or whoever stood still while the worker settled.
_BY_OTHERS: Final = ("Indeterminate", "Aborted")


@CHECKERS.checker("MUT-046", "suite", "answer", "rows")
def first_settlement_is_kept(index: Index) -> Iterator[Finding]:
    """A terminal state is never followed by another one, whoever else was about to settle the attempt."""
    for attempt, (seq, state) in _settlements(index).items():
        worker = index.owner(attempt)
        if worker is None or worker.outcome != "done":
            continue
        for rival in index.during(worker, _OTHERS):
            if state in _BY_OTHERS:
                contends = rival.seq < seq < worker.until
            else:
                contends = rival.seq < seq and rival.until > index.seen_by(worker) and rival.outcome == "done"
            if contends:
                yield Met(state.lower())
    for attempt, before, became, seq in _changes(index):
        allowed = f"attempt {attempt[-6:]} stays {before}, as it was settled first"
        yield Violation(allowed, f"its row became {became}", seq, "rows")


def _settlements(index: Index) -> dict[str, tuple[int, str]]:
    """The first settlement of each attempt that the rows show: the event in which it was first seen, and the state."""
    found: dict[str, tuple[int, str]] = {}
    for move in index.moves:
        if move.entity == "mutation_attempt" and move.dest in TERMINAL and move.id in index.attempts:
            found.setdefault(move.id, (move.seq, str(move.dest)))
    return found


def _changes(index: Index) -> Iterator[tuple[str, str, str, int]]:
    """Each attempt that left a terminal state, once: its id, that state, what it became, and the event."""
    reported: set[str] = set()
    for move in index.moves:
        if move.entity == "mutation_attempt" and move.source in TERMINAL and move.dest != move.source:
            if move.id not in reported:
                yield move.id, str(move.source), str(move.dest), move.seq
            reported.add(move.id)
    settled: dict[str, str] = {}
    seen: object = None
    for rows in index.rows:
        if rows.attempts is seen:
            continue
        seen = rows.attempts
        for attempt, row in rows.attempts.items():
            state = str(row.get("state"))
            before = settled.get(attempt)
            if before is None and state in TERMINAL:
                settled[attempt] = state
            elif before is not None and state != before and attempt not in reported:
                reported.add(attempt)
                yield attempt, before, state, rows.seq


@CHECKERS.checker("MUT-049", "suite", "wire", "answer", "rows")
def indeterminate_is_never_reconciled(index: Index) -> Iterator[Finding]:
    """Evidence that comes after Indeterminate turns neither the row nor what later callers are told."""
    for attempt, (seq, state) in _settlements(index).items():
        worker = index.owner(attempt)
        if worker is None or state != "Indeterminate":
            continue
        for connection in index.connections_of(worker):
            if connection.known and connection.end_seq > seq:
                yield Met("late-success" if connection.effect == "done" else "late-refusal")
        for observer in duplicates(index, worker, seq):
            if observer.outcome == "done" and observer.classification not in (None, "unknown"):
                allowed = "unknown for whoever asks after an Indeterminate attempt"
                yield Violation(allowed, told(observer), observer.until, "answer")
    for attempt, before, became, seq in _changes(index):
        if before == "Indeterminate":
            allowed = f"attempt {attempt[-6:]} stays Indeterminate"
            yield Violation(allowed, f"its row became {became}", seq, "rows")
