"""What the caller is told, against what the observer could know (OBS-042, OBS-057)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import Command, Connection
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS

DEADLINE_MS = 20_000
_LOST = {"closed": "dropped", "reset": "reset", "cut": "partial", "abandoned": "deadline"}
_STORE = ("fail", "lose-ack")


@CHECKERS.checker("OBS-042", "suite", "wire", "answer", "rows")
def lost_response_is_unknown(index: Index) -> Iterator[Finding]:
    """A request whose response was lost ends as unknown in the answer and Indeterminate in the row.

    No store fault excuses another answer. The row is Indeterminate when storage permits: a live host may leave it
    Dispatching (reading leave-dispatching) until a pass of recovery was done that no store fault struck.
    """
    for command in index.invocations:
        connections = index.connections_of(command)
        if len(connections) != 1:
            continue
        loss = _loss(command, connections[0])
        if loss is None:
            continue
        yield Met(loss)
        in_time = connections[0].seq < command.until
        told = (command.classification, command.code)
        if command.outcome == "done" and in_time and told != ("unknown", "outcome_unknown"):
            yield Violation(
                "unknown with outcome_unknown after the response was lost",
                f"the caller was told {command.classification} with {command.code or 'success'}",
                command.until,
                "answer",
            )
        yield from _row(index, command)


def _row(index: Index, command: Command) -> Iterator[Finding]:
    if not index.rows:
        return
    allowed = ("Indeterminate",) if index.recovered_after(command.until) else ("Indeterminate", "Dispatching")
    last = index.rows[-1]
    for attempt in index.attempts_of(command):
        state = last.state(attempt)
        if state is not None and state not in allowed and index.opened(attempt):
            yield Violation(
                f"attempt {attempt[-6:]} is Indeterminate in the end, its response having been lost",
                f"its row is {state}",
                last.seq,
                "rows",
            )


def _loss(command: Command, connection: Connection) -> str | None:
    if command.outcome == "no-answer":
        return "crash" if connection.read and connection.how in (None, "abandoned") else None
    if command.outcome != "done":
        return None
    return _LOST.get(connection.how or "")


TERMINAL_WRITE = ("mutation_attempt", "Dispatching", "Completed")


@CHECKERS.checker("OBS-057", "suite", "wire", "answer", "rows")
def known_success_survives_a_failed_terminal_write(index: Index) -> Iterator[Finding]:
    """The live observer holds the provider's success; a ledger that fails afterwards does not change its answer.

    The terminal write fails by a fault, or because somebody else has settled the row. Where the deadline passes
    meanwhile, a supervisor may have won before the success was received.
    """
    faults = _store_faults(index)
    for command in index.invocations:
        connections = index.connections_of(command)
        if len(connections) != 1 or command.outcome != "done" or index.elapsed(command) >= DEADLINE_MS:
            continue
        success = connections[0]
        if not success.known or success.effect != "done" or success.end_seq > command.until:
            continue
        cells = faults.get(command.seq, [])
        yield from (Met(cell) for cell in cells if cell)
        if command.classification != "applied" and (cells or _unrecorded(index, command)):
            yield Violation(
                "applied, which the live observer knows from the provider",
                f"the caller was told {command.classification} with {command.code or 'success'}",
                command.until,
                "answer",
            )


def _store_faults(index: Index) -> dict[int, list[str]]:
    """The store faults of each command after its response, as cells; one that struck no terminal write is no cell."""
    found: dict[int, list[str]] = {}
    for fault in index.faults:
        command = fault.command
        if fault.action not in _STORE or command is None or not command.invokes:
            continue
        if not any(c.end_seq < fault.seq for c in index.connections_of(command)):
            continue
        cell = "failed" if fault.action == "fail" else f"lost-{str(fault.world).replace('_', '-')}"
        found.setdefault(command.seq, []).append(cell if TERMINAL_WRITE in fault.changes else "")
    return found


def _unrecorded(index: Index, command: Command) -> bool:
    """Whether the rows of the answer's time say of the opened attempt anything but Completed."""
    rows = index.rows_after(command.until)
    attempts = [a for a in index.attempts_of(command) if index.opened(a)]
    return rows is not None and bool(attempts) and all(rows.state(a) != "Completed" for a in attempts)
