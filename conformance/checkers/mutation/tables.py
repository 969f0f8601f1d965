"""Which rows of the specification's tables a history exercised: from suite, wire, answer and row events alone.

A table is added by one entry in :data:`COVERED`: a function from the index to ids of rows, one for each time that the
row's situation came about, whatever the implementation made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from conformance.checkers.mutation.boundary import boundary_rows
from conformance.checkers.mutation.facts import Command, Connection
from conformance.checkers.mutation.gate import GATE
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.keys import ANCHOR
from conformance.checkers.mutation.observed import CLASSIFICATION, DEADLINE_MS
from conformance.checkers.mutation.precedence import precedence_rows
from statemachines.spec import load

_STORE: Final = ("fail", "lose-ack")
_UNSETTLED: Final = ("Prepared", "Dispatching")


def exercised(index: Index) -> Iterator[str]:
    """Every exercised row of every covered table, as ``table/row``."""
    for table, rows in COVERED.items():
        for row in rows(index):
            yield f"{table}/{row}"


@cache
def expected() -> Mapping[str, tuple[str, ...]]:
    """The covered tables with the rows that a run has to exercise: all but those that say they cannot come about.

    Of the order of checks those that a call of today may meet, as the commands of the family list them.
    """
    spec = load()
    family = spec.commands["mutation-host"]
    listed = {family.order_of_checks: {check.row for check in family.checks}}
    return {
        table: tuple(
            row.id
            for row in spec.tables[table].rows
            if row.then.get("possible") is not False and row.id in listed.get(table, {row.id})
        )
        for table in COVERED
    }


def outcome_rows(index: Index) -> Iterator[str]:
    """The rows of ``mutation_outcome``, one for each invocation whose observer was in that place."""
    struck: dict[int, set[str]] = {}
    for fault in index.faults:
        if fault.command is None or fault.action not in _STORE:
            continue
        if ANCHOR in fault.changes:
            struck.setdefault(fault.command.seq, set()).add("never_reached")
        if GATE in fault.changes and fault.action == "lose-ack" and fault.outage:
            struck.setdefault(fault.command.seq, set()).add("gate_uncertain")
    killed = {k.command.seq for k in index.kills if k.command is not None}
    for command in index.invocations:
        rows = struck.get(command.seq, set())
        attempts = index.attempts_of(command)
        rows |= {
            "fenced_before_gate"
            for a in attempts
            if not index.opened(a) and any(m.dest == "Aborted" for m in index.moves_of(a))
        }
        if _waited_in_vain(index, command):
            rows.add("gate_uncertain")
        connections = index.connections_of(command)
        rows |= {row for c in connections if (row := _evidence(c, command)) is not None}
        if not connections and command.seq in killed and any(index.opened(a) for a in attempts):
            rows.add("no_answer")
        yield from sorted(rows)


def _evidence(connection: Connection, command: Command) -> str | None:
    if connection.known:
        return "definite_success" if connection.effect == "done" else "definite_refusal"
    if connection.how in ("answered", "cut"):
        return "ambiguous_answer"
    broken = connection.how in ("closed", "reset", "abandoned")
    return "no_answer" if broken or command.outcome == "no-answer" else None


def _waited_in_vain(index: Index, command: Command) -> bool:
    """Whether the service deadline of a duplicate passed while the original under its key was not settled."""
    if not command.key or command.outcome != "done" or index.elapsed(command) < DEADLINE_MS:
        return False
    rows = index.rows_before(command.until)
    if rows is None or index.attempts_of(command):
        return False
    states = ((index.owner(a), row.get("state")) for a, row in rows.attempts.items())
    return any(o is not None and o.subject == command.subject and state in _UNSETTLED for o, state in states)


def observed_rows(index: Index) -> Iterator[str]:
    """The rows of ``mutation_observed``: where the attempt stood of which somebody else was told."""
    for meeting in index.slots.meetings:
        command = meeting.command
        if not meeting.equal or command.outcome != "done" or index.connections_of(command):
            continue
        state = meeting.generation.attempt_state(index.seen_by(command) + 1)
        if state is not None:
            yield "unsettled" if state in _UNSETTLED else CLASSIFICATION[state]


COVERED: Final[Mapping[str, Callable[[Index], Iterator[str]]]] = {
    "mutation_outcome": outcome_rows,
    "replay_boundary": boundary_rows,
    "mutation_observed": observed_rows,
    "precedence": precedence_rows,
}
