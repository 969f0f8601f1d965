"""The anchor: a Prepared row that is all there is, or not known to be durable (MUT-004, MUT-005, MUT-006)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import Command
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.moments import (
    PREPARE,
    after,
    call_of,
    made,
    of_invocations,
    states_before,
    told,
    told_cause,
    too_late,
)
from conformance.checkers.mutation.registry import CHECKERS


@CHECKERS.checker("MUT-004", "suite", "wire", "answer", "rows")
def nothing_is_sent_while_prepared(index: Index) -> Iterator[Finding]:
    """No attempt is seen at the remote while it is Prepared, whether its worker dies, stands still or goes on."""
    for kill in index.kills:
        command, rows = kill.command, index.rows_after(kill.seq)
        if command is None or rows is None or not command.invokes:
            continue
        if any(rows.state(a) == "Prepared" for a in made(index, command)):
            yield Met("crash")
            yield from (_prepared(c.seq, c.proc) for c in index.connections_of(command) if c.seq < kill.seq)
    for command in index.invocations:
        late = too_late(index, command)
        if late is not None and "Prepared" in states_before(index, command, late):
            yield Met("stall")
    for connection in index.connections:
        sender, rows = connection.sender, connection.rows
        if sender is not None and rows is not None and any(rows.state(a) == "Prepared" for a in made(index, sender)):
            yield _prepared(connection.request_seq or connection.seq, connection.proc)


def _prepared(seq: int, proc: str) -> Violation:
    return Violation("no request while the attempt is Prepared", f"{proc} connected to the remote", seq, "rows")


@CHECKERS.checker("MUT-005", "suite", "wire", "answer", "rows")
def failed_anchor_is_not_attempted(index: Index) -> Iterator[Finding]:
    """A candidate without an anchor sends nothing and says so: not attempted, for want of the ledger.

    A keyed candidate may say that it does not know, since a winner could be hidden from it (keyed-anchor-unavailable).
    One that anchored after all, at a second try, is another matter.
    """
    seen: set[int] = set()
    for fault in of_invocations(index, PREPARE, "fail"):
        command = fault.command
        if command is None or command.outcome != "done" or command.seq in seen or made(index, command):
            continue
        seen.add(command.seq)
        # A failing read leaves open whether the key is held; that is first-lookup-unavailable.
        call = call_of(fault)
        if call in ("begin", "write", "commit"):
            yield Met("keyed" if command.key else "down" if call == "begin" else "rejected")
        for connection in index.connections_of(command):
            yield Violation("no request without an anchor", f"{connection.proc} connected", connection.seq, "wire")
        if not _unanchored(command):
            yield Violation("not_attempted with unavailable", told(command), command.until, "answer")


def _unanchored(command: Command) -> bool:
    if command.classification == "not_attempted":
        return "unavailable" in ((command.code or "").lower(), told_cause(command))
    return command.key is not None and (command.classification, command.code) == ("unknown", "outcome_unknown")


@CHECKERS.checker("MUT-006", "suite", "wire", "answer")
def uncertain_anchor_permits_nothing(index: Index) -> Iterator[Finding]:
    """After a lost acknowledgement of the prepare, in either world, this call is not seen at the remote."""
    for fault in of_invocations(index, PREPARE, "lose-ack"):
        assert fault.command is not None
        yield Met(str(fault.world).replace("_", "-"))
        for connection in after(index.connections_of(fault.command), fault.seq):
            yield Violation(
                f"no request of {fault.proc} once the acknowledgement of its prepare was lost",
                f"{fault.proc} connected to the remote afterwards",
                connection.seq,
                "wire",
            )
