"""The dispatch gate: who may send, when, how often (MUT-009, MUT-011, MUT-015, MUT-017, MUT-030)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import OPENED, Command, Connection
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS

GATE = ("mutation_attempt", "Prepared", "Dispatching")
_SECOND = {"host.invoke": "duplicate", "recover": "recovery", "host.cancel": "cancel"}


@CHECKERS.checker("MUT-009", "suite", "wire", "answer", "rows")
def only_the_gate_winner_calls(index: Index) -> Iterator[Finding]:
    """Two parties on one attempt: only the worker that made it and won its gate may be seen at the remote.

    A waiter, a cancel and a housekeeper make no attempt and so never send. Recovery is judged by MUT-033.
    """
    for first in index.invocations:
        for second in index.during(first, frozenset(_SECOND)):
            if second.invokes and second.subject != first.subject:
                continue
            rows = index.rows_before(second.seq)
            mine = index.attempts_of(first)
            if rows and any(rows.state(a) in ("Prepared", "Dispatching") for a in mine):
                yield Met(_SECOND[second.cmd])
    for connection in index.connections:
        allowed = _forbidden(index, connection)
        if allowed is not None:
            yield Violation(allowed, f"{connection.proc} connected to the remote", connection.seq, "wire")


def _forbidden(index: Index, connection: Connection) -> str | None:
    """Why this connection should not be: None when the gate permits it, or when nobody can tell."""
    sender, command = connection.sender, connection.command
    if sender is None:
        other = command is not None and command.cmd != "recover"
        return f"no request from {connection.proc}: {command.cmd} never sends" if command and other else None
    made = index.attempts_of(sender)
    if made:
        closed = not any(index.opened(a) for a in made)
        return f"no request from {connection.proc}: attempt {made[0][-6:]} never passed its gate" if closed else None
    if index.linked and index.rows[-1].seq > connection.seq:
        return f"no request from {connection.proc}: it owns no attempt"
    return None


@CHECKERS.checker("MUT-011", "suite", "wire", "answer")
def lost_gate_acknowledgement_permits_nothing(index: Index) -> Iterator[Finding]:
    """After a lost acknowledgement of the gate write, in either world, this worker is not seen at the remote."""
    for fault in index.faults:
        if fault.action != "lose-ack" or GATE not in fault.changes:
            continue
        if fault.command is None or not fault.command.invokes:
            continue
        yield Met(str(fault.world).replace("_", "-"))
        for connection in index.connections_of(fault.command):
            if connection.seq > fault.seq:
                yield Violation(
                    f"no request of {fault.proc} once the acknowledgement of its gate was lost",
                    f"{fault.proc} connected to the remote afterwards",
                    connection.seq,
                    "wire",
                )


_RESPONSES = {"reset": "reset", "closed": "dropped", "cut": "partial", "abandoned": "timeout"}


@CHECKERS.checker("MUT-015", "suite", "wire", "answer")
def at_most_one_call(index: Index) -> Iterator[Finding]:
    """However the provider fails, one invocation is seen at the remote at most once, also after its answer."""
    for command in index.invocations:
        connections = index.connections_of(command)
        for connection in connections:
            cell = _failure(command, connection)
            if cell is not None:
                yield Met(cell)
        for number, extra in enumerate(connections[1:], 2):
            yield Violation(
                f"one connection for {command.request_id}",
                f"connection {number} of {len(connections)}, from {extra.proc}",
                extra.seq,
                "wire",
            )


def _failure(command: Command, connection: Connection) -> str | None:
    """How the provider failed; a process that was killed broke its connection itself."""
    if connection.how == "abandoned" and command.outcome != "done":
        return None
    if connection.how == "answered" and connection.effect == "unknown":
        return "status" if connection.status and connection.status >= 400 else "malformed"
    return _RESPONSES.get(connection.how or "")


@CHECKERS.checker("MUT-017", "suite", "wire", "answer", "rows")
def gate_is_durable_before_the_call(index: Index) -> Iterator[Finding]:
    """Whenever a request arrives, the rows already say that its gate is open.

    A request of an attempt that is already Aborted is left to MUT-009 and MUT-030, one without any attempt to MUT-009.
    """
    for connection in index.connections:
        sender, rows = connection.sender, connection.rows
        if sender is None or rows is None or not index.linked:
            continue
        yield Met("keyed" if sender.key else "unkeyed")
        wanted = sender.request_id
        states = [row.get("state") for row in rows.attempts.values() if row.get("request_id") == wanted]
        shut = [s for s in states if s != "Aborted"]
        if (shut or (not states and index.attempts_of(sender))) and not OPENED.intersection(shut):
            yield Violation(
                "an attempt that is Dispatching when its request arrives",
                f"the row was {shut[0] if shut else 'missing'}",
                connection.request_seq or connection.seq,
                "rows",
            )
    for kill in index.kills:
        command, rows = kill.command, index.rows_after(kill.seq)
        if command is None or rows is None or not command.invokes or index.connections_of(command):
            continue
        # Who never heard of its gate does not stand between gate and call.
        if any(f.command is command and f.action == "lose-ack" and GATE in f.changes for f in index.faults):
            continue
        if any(rows.state(a) == "Dispatching" for a in index.attempts_of(command)):
            yield Met("crash-before-send")


_RIVALS = {"host.cancel": "cancel", "recover": "recovery"}


@CHECKERS.checker("MUT-030", "suite", "wire", "answer", "rows")
def gate_and_abort_never_both_win(index: Index) -> Iterator[Finding]:
    """One attempt is never both dispatched and aborted, and a request is seen only where the gate won."""
    for first in index.invocations:
        attempts = index.attempts_of(first)
        for attempt in attempts:
            dests = [m.dest for m in index.moves_of(attempt)]
            aborted, opened = "Aborted" in dests, "Dispatching" in dests
            for rival in index.during(first, frozenset(_RIVALS)):
                won = _won(index, attempt, rival)
                if won is not None and aborted != opened:
                    yield Met(f"{_RIVALS[rival.cmd]}-{won}-wins")
            if aborted and opened:
                seq = next(m.seq for m in index.moves_of(attempt) if m.dest == "Aborted")
                yield Violation(
                    f"attempt {attempt[-6:]} either dispatched or aborted",
                    "its row went through " + ", ".join(str(d) for d in dests),
                    seq,
                    "rows",
                )
            if aborted and not any(index.opened(a) for a in attempts):
                for connection in index.connections_of(first):
                    yield Violation(
                        f"no request for the aborted attempt {attempt[-6:]}",
                        f"{connection.proc} connected to the remote",
                        connection.seq,
                        "wire",
                    )


def _won(index: Index, attempt: str, rival: Command) -> str | None:
    """``gate`` if it was open before the rival came, ``abort`` if the attempt was aborted while the rival ran."""
    for move in index.moves_of(attempt):
        if move.dest == "Dispatching" and move.seq < rival.seq:
            return "gate"
        if move.dest == "Aborted" and rival.seq < move.seq <= index.seen_by(rival):
            return "abort"
    return None
