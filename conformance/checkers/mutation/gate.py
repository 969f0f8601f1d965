"""The dispatch gate: who may send, when, how often (MUT-009, MUT-011, MUT-015, MUT-017, MUT-030)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.index import Command, Index
from conformance.checkers.mutation.registry import CHECKERS

GATE = ("mutation_attempt", "Prepared", "Dispatching")
_SECOND = {"host.invoke": "duplicate", "recover": "recovery", "host.cancel": "cancel"}


@CHECKERS.checker("MUT-009", "suite", "wire", "rows")
def only_the_gate_winner_calls(index: Index) -> Iterator[Finding]:
    """Two parties on one attempt: only the worker that made it and won its gate may be seen at the remote."""
    for first in index.invocations:
        for second in index.during(first, frozenset(_SECOND)):
            if second.cmd == "host.invoke" and second.subject != first.subject:
                continue
            rows = index.rows_before(second.seq)
            mine = index.attempts_of(first)
            if rows and any(rows.attempts.get(a, {}).get("state") in ("Prepared", "Dispatching") for a in mine):
                yield Met(_SECOND[second.cmd])
    for connection in index.connections:
        command = connection.command
        if command is None or command.cmd != "host.invoke":
            continue
        made = index.attempts_of(command)
        if made and not any(m.dest == "Dispatching" for a in made for m in index.moves_of(a)):
            yield Violation(
                f"no request from {connection.proc}: attempt {made[0][-6:]} never passed its gate",
                f"{connection.proc} connected to the remote",
                connection.seq,
                "wire",
            )
        elif not made and index.rows:
            yield Violation(
                f"no request from {connection.proc}: it owns no attempt",
                f"{connection.proc} connected to the remote",
                connection.seq,
                "wire",
            )


@CHECKERS.checker("MUT-011", "suite", "wire", "rows")
def lost_gate_acknowledgement_permits_nothing(index: Index) -> Iterator[Finding]:
    """After a lost acknowledgement of the gate write, in either world, this worker is not seen at the remote."""
    for fault in index.faults:
        if fault.action != "lose-ack" or GATE not in fault.changes or fault.command is None:
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


@CHECKERS.checker("MUT-015", "suite", "wire")
def at_most_one_call(index: Index) -> Iterator[Finding]:
    """However the provider fails, one invocation is seen at the remote at most once."""
    for command in index.invocations:
        connections = index.connections_of(command)
        for connection in connections:
            if connection.how == "abandoned" and command.outcome != "done":
                continue  # the process was killed: the caller's side broke, not the provider's
            if connection.how in _RESPONSES:
                yield Met(_RESPONSES[connection.how])
            elif connection.how == "answered" and connection.effect == "unknown":
                yield Met("status" if connection.status and connection.status >= 400 else "malformed")
        for extra in connections[1:]:
            yield Violation(
                f"one connection for {command.request['request_id']}",
                f"connection {len(connections)} of them from {extra.proc}",
                extra.seq,
                "wire",
            )


@CHECKERS.checker("MUT-017", "suite", "wire", "rows")
def gate_is_durable_before_the_call(index: Index) -> Iterator[Finding]:
    """Whenever a request arrives, the rows already say that its gate is open."""
    by_request = {r.seq: r for r in index.rows if r.why == "request"}
    for connection in index.connections:
        command = connection.command
        if command is None or command.cmd != "host.invoke" or connection.request_seq is None:
            continue
        rows = by_request.get(connection.request_seq + 1)
        if rows is None:
            continue
        yield Met("keyed" if command.request.get("idempotency_key") else "unkeyed")
        wanted = command.request["request_id"]
        states = [row["state"] for row in rows.attempts.values() if row["request_id"] == wanted]
        if not any(state != "Prepared" for state in states):
            yield Violation(
                "an attempt that is Dispatching when its request arrives",
                f"the row was {states[0] if states else 'missing'}",
                connection.request_seq,
                "rows",
            )
    for seq, proc in index.kills:
        command = next((c for c in index.invocations if c.proc == proc and c.seq < seq <= c.until), None)
        rows = next((r for r in index.rows if r.seq > seq), None)
        if command is None or rows is None or index.connections_of(command):
            continue
        mine = [row for row in rows.attempts.values() if row["request_id"] == command.request["request_id"]]
        if any(row["state"] == "Dispatching" for row in mine):
            yield Met("crash-before-send")


_RIVALS = {"host.cancel": "cancel", "recover": "recovery"}


def _won(index: Index, attempt: str, rival: Command) -> str | None:
    """``gate`` if it was open before the rival came, ``abort`` if the attempt was aborted while the rival ran."""
    for move in index.moves_of(attempt):
        if move.dest == "Dispatching" and move.seq < rival.seq:
            return "gate"
        if move.dest == "Aborted" and rival.seq < move.seq <= index.seen_by(rival):
            return "abort"
    return None


@CHECKERS.checker("MUT-030", "suite", "wire", "rows")
def gate_and_abort_never_both_win(index: Index) -> Iterator[Finding]:
    """One attempt is never both dispatched and aborted, and a request is seen only where the gate won."""
    for first in index.invocations:
        for attempt in index.attempts_of(first):
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
            if aborted and not opened:
                for connection in index.connections_of(first):
                    yield Violation(
                        f"no request for the aborted attempt {attempt[-6:]}",
                        f"{connection.proc} connected to the remote",
                        connection.seq,
                        "wire",
                    )
