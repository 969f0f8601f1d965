"""What the caller is told, against what the observer could know (OBS-042, OBS-057)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.index import END, Command, Connection, Index
from conformance.checkers.mutation.registry import CHECKERS

_LOST = {"closed": "dropped", "reset": "reset", "cut": "partial", "abandoned": "deadline"}


@CHECKERS.checker("OBS-042", "suite", "wire", "answer", "rows")
def lost_response_is_unknown(index: Index) -> Iterator[Finding]:
    """A request whose response was lost ends as unknown in the answer and Indeterminate in the row.

    A live host may leave the row Dispatching (reading leave-dispatching) until recovery has run. Storage has to
    permit all this: a schedule in which a store fault strikes later is left to other requirements.
    """
    for command in index.invocations:
        connections = index.connections_of(command)
        if len(connections) != 1:
            continue
        loss = _loss(command, connections[0])
        if loss is None or any(f.seq > command.seq and f.action in ("fail", "lose-ack") for f in index.faults):
            continue
        yield Met(loss)
        if command.outcome == "done" and (command.classification, command.code) != ("unknown", "outcome_unknown"):
            yield Violation(
                "unknown with outcome_unknown after the response was lost",
                f"the caller was told {command.classification} with {command.code or 'success'}",
                command.until,
                "answer",
            )
        yield from _row(index, command)


def _row(index: Index, command: Command) -> Iterator[Finding]:
    allowed = ("Indeterminate",) if index.recovered_after(command.until) else ("Indeterminate", "Dispatching")
    if not index.rows or command.until == END:
        return
    last = index.rows[-1]
    for attempt in index.attempts_of(command):
        row = last.attempts.get(attempt)
        if row is not None and row["state"] not in allowed:
            yield Violation(
                f"attempt {attempt[-6:]} is Indeterminate in the end, its response having been lost",
                f"its row is {row['state']}",
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


@CHECKERS.checker("OBS-057", "suite", "wire", "answer")
def known_success_survives_a_failed_terminal_write(index: Index) -> Iterator[Finding]:
    """The live observer holds the provider's success; a ledger that fails afterwards does not change its answer."""
    for fault in index.faults:
        command = fault.command
        if fault.action not in ("fail", "lose-ack") or TERMINAL_WRITE not in fault.changes or command is None:
            continue
        known = [c for c in index.connections_of(command) if c.how == "answered" and c.effect == "done"]
        if not known or command.outcome != "done":
            continue
        yield Met("failed" if fault.action == "fail" else f"lost-{str(fault.world).replace('_', '-')}")
        if command.classification != "applied":
            yield Violation(
                "applied, which the live observer knows from the provider",
                f"the caller was told {command.classification} with {command.code or 'success'}",
                command.until,
                "answer",
            )
