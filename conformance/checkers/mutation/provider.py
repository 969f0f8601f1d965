"""Answers of the provider that prove nothing: an error status and a partial result (MUT-023, MUT-025)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import Command, Connection
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.moments import made, told
from conformance.checkers.mutation.registry import CHECKERS


@CHECKERS.checker("MUT-023", "suite", "wire", "answer", "rows")
def server_error_is_no_refusal(index: Index) -> Iterator[Finding]:
    """An answer with a status from 500 up leaves the outcome unknown, told so and recorded so."""
    for command, connection in _answered(index):
        if connection.effect == "unknown" and connection.status is not None and connection.status >= 500:
            yield Met("internal-error" if connection.status == 500 else "unavailable")
            yield from _unknown(index, command, f"HTTP {connection.status}")


@CHECKERS.checker("MUT-025", "suite", "wire", "answer", "rows")
def partial_result_is_no_refusal(index: Index) -> Iterator[Finding]:
    """An answer that breaks off, or that reports part of the work, leaves the outcome unknown."""
    for command, connection in _answered(index):
        if connection.how == "cut":
            yield Met("broken-off")
            yield from _unknown(index, command, "an answer that broke off")
        elif connection.effect == "part":
            yield Met("some-steps")
            yield from _unknown(index, command, "a report of part of the work")


def _answered(index: Index) -> Iterator[tuple[Command, Connection]]:
    """The invocations with exactly one connection, which ended before they were answered."""
    for command in index.invocations:
        connections = index.connections_of(command)
        if len(connections) == 1 and connections[0].end_seq < command.until and command.outcome == "done":
            yield command, connections[0]


def _unknown(index: Index, command: Command, what: str) -> Iterator[Violation]:
    """The answer says unknown, and so does the row when storage permits; until recovery it may be left open."""
    if (command.classification, command.code) != ("unknown", "outcome_unknown"):
        yield Violation(f"unknown with outcome_unknown after {what}", told(command), command.until, "answer")
    if not index.rows:
        return
    last, allowed = index.rows[-1], ["Indeterminate"]
    if not index.recovered_after(command.until):
        allowed.append("Dispatching")
    for attempt in made(index, command):
        state = last.state(attempt)
        if state is not None and state not in allowed and index.opened(attempt):
            yield Violation(f"Indeterminate after {what}", f"the row is {state}", last.seq, "rows")
