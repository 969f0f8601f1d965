"""Who may send besides the one worker that won the gate: nobody (MUT-010, MUT-013, MUT-014, MUT-016)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import OPENED, Command, Connection, Move
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.moments import (
    GATE,
    after,
    duplicates,
    made,
    of_invocations,
    states_before,
    too_late,
)
from conformance.checkers.mutation.registry import CHECKERS


@CHECKERS.checker("MUT-010", "suite", "wire", "answer", "rows")
def reading_dispatching_permits_nothing(index: Index) -> Iterator[Finding]:
    """Whoever finds an attempt Dispatching, its own or another's, is not seen at the remote for it."""
    for fault in of_invocations(index, GATE, "lose-ack"):
        command = fault.command
        if command is None or fault.world != "committed" or not _opened(index, command):
            continue
        if command.outcome == "done":
            yield Met("lost-ack")
        for connection in after(index.connections_of(command), fault.seq):
            yield _stranger(connection, "Dispatching")
    for command, since in _orphans(index):
        if "Dispatching" in states_before(index, command, since) and _visited(index, command, since):
            yield Met("restart")
    for first in index.invocations:
        for second in index.during(first, frozenset({"host.invoke"})):
            if second.subject == first.subject and "Dispatching" in states_before(index, first, second.seq):
                yield Met("duplicate")
    for connection, state in _strangers(index):
        if state == "Dispatching":
            yield _stranger(connection, state)


def _opened(index: Index, command: Command) -> bool:
    return any(index.opened(a) for a in made(index, command))


def _orphans(index: Index) -> Iterator[tuple[Command, int]]:
    """The invocations whose process was killed under them, and the first snapshot's place after that."""
    for kill in index.kills:
        rows = index.rows_after(kill.seq)
        if kill.command is not None and kill.command.invokes and rows is not None:
            yield kill.command, rows.seq + 1


def _visited(index: Index, command: Command, since: int) -> bool:
    """Whether somebody came to an orphan: recovery, or an exact duplicate."""
    came = any(c.cmd == "recover" and c.seq > since for c in index.commands)
    return came or any(True for _ in duplicates(index, command, since))


def _strangers(index: Index) -> Iterator[tuple[Connection, str]]:
    """The connections for an attempt by somebody who did not make it, with the state in which they found it.

    A request with the same marker that has an attempt of its own behind it is a second effect, and not judged here.
    """
    if not index.linked:
        return
    for connection in index.connections:
        rows, sender, doing = index.rows_before(connection.seq), connection.sender, connection.command
        if rows is None or (sender is not None and made(index, sender)):
            continue
        for attempt, row in rows.attempts.items():
            maker = index.owner(attempt)
            if maker is None or maker is sender or row.get("state") not in OPENED:
                continue
            recovers = sender is None and (doing is None or doing.cmd == "recover") and row["state"] == "Dispatching"
            if recovers or (connection.marker is not None and connection.marker == maker.marker):
                yield connection, str(row["state"])
                break


def _stranger(connection: Connection, state: str) -> Violation:
    return Violation(
        f"no request by somebody who finds the attempt {state}",
        f"{connection.proc} connected to the remote",
        connection.seq,
        "wire",
    )


@CHECKERS.checker("MUT-013", "suite", "wire", "answer", "rows")
def loser_to_the_abort_never_sends(index: Index) -> Iterator[Finding]:
    """Once the abort has won, whoever brought it, the late worker sends nothing and the row stays Aborted."""
    for command in index.invocations:
        late = too_late(index, command)
        for attempt in made(index, command):
            moves = index.moves_of(attempt)
            abort = next((m for m in moves if (m.source, m.dest) == ("Prepared", "Aborted")), None)
            if abort is None or not command.seq < abort.seq <= command.until + 1:
                continue
            cell = _rival(index, command, abort, late)
            if cell is None:
                continue
            if command.outcome == "done":
                yield Met(cell)
            for connection in after(index.connections_of(command), abort.seq):
                yield Violation("no request once the abort has won", "the late worker sent", connection.seq, "wire")
            for move in moves:
                if move.source == "Aborted":
                    yield Violation("the row stays Aborted", f"it became {move.dest}", move.seq, "rows")


def _rival(index: Index, command: Command, abort: Move, late: int | None) -> str | None:
    """Who aborted: a cancel or recovery beside the worker, or else the deadline, if it had passed."""
    for rival in index.during(command, frozenset({"host.cancel", "recover"})):
        if rival.seq < abort.seq <= index.seen_by(rival):
            return "cancel" if rival.cmd == "host.cancel" else "recovery"
    return "deadline" if late is not None and late < abort.seq else None


@CHECKERS.checker("MUT-014", "suite", "wire", "answer", "rows")
def permission_is_not_regained(index: Index) -> Iterator[Finding]:
    """A timeout, a restarted worker and a duplicate caller add no request to an attempt whose gate has opened."""
    for command in index.invocations:
        late = too_late(index, command)
        if late is not None and OPENED.intersection(states_before(index, command, late)):
            yield Met("timeout")
            connections = index.connections_of(command)
            for connection in after(connections[1:], late):
                yield Violation(
                    "no second request once the deadline has passed",
                    f"{connection.proc} connected again",
                    connection.seq,
                    "wire",
                )
        for second in index.during(command, frozenset({"host.invoke"})):
            if second.subject == command.subject and OPENED.intersection(states_before(index, command, second.seq)):
                yield Met("duplicate")
    for command, since in _orphans(index):
        if OPENED.intersection(states_before(index, command, since)) and _visited(index, command, since):
            yield Met("restart")
    for connection, state in _strangers(index):
        doing = connection.command
        if doing is None or doing.cmd in ("host.invoke", "recover"):
            yield _stranger(connection, state)


_CLASSES = {"reset": "reset", "closed": "dropped", "cut": "partial"}


@CHECKERS.checker("MUT-016", "suite", "wire", "answer")
def nothing_is_resent(index: Index) -> Iterator[Finding]:
    """Neither the call itself nor time, a restart, recovery and housekeeping bring a second request for one attempt.

    However the first one ended; a call of its own is no resend.
    """
    recoveries = [c.seq for c in index.commands if c.cmd == "recover"]
    sent: dict[str | None, Command] = {}
    for command in index.invocations:
        connections = index.connections_of(command)
        if not connections:
            continue
        sent.setdefault(connections[0].marker, command)
        cell = _failure(connections[0])
        if cell is not None and command.outcome == "done" and recoveries and recoveries[-1] > command.until:
            yield Met(cell)
        for connection in connections[1:]:
            yield _resent(connection)
    for connection in index.connections:
        first = sent.get(connection.marker)
        if connection.sender is None and first is not None and connection.marker and connection.seq > first.seq:
            yield _resent(connection)


def _failure(connection: Connection) -> str | None:
    if connection.how == "answered":
        if connection.effect == "none":
            return "refused"
        if connection.effect == "unknown" and connection.status is not None and connection.status >= 400:
            return "rate-limited" if connection.status == 429 else "status"
    return _CLASSES.get(connection.how or "")


def _resent(connection: Connection) -> Violation:
    doing = connection.command.cmd if connection.command else "no command at all"
    return Violation(
        f"no second request for {connection.marker}",
        f"{connection.proc} sent it again during {doing}",
        connection.seq,
        "wire",
    )
