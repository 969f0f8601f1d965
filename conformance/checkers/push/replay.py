"""No second POST, and when a contract permits one, the same bytes (POST-032, POST-034, RETRY-006)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.push.index import (
    Index,
    Record,
    Repeat,
    Replay,
    attempts,
    declares_replay,
    links,
    record_of,
)
from conformance.checkers.push.registry import CHECKERS
from conformance.checkers.timeline import Connection

_LOST = {"closed": "dropped", "reset": "reset", "cut": "partial"}


@CHECKERS.checker("POST-032", "suite", "wire", "answer", "rows")
def no_second_post_without_a_contract(index: Index) -> Iterator[Finding]:
    """A request that may have worked and left no id is never followed by another, whatever is asked afterwards."""
    for record, connections in index.by_record.items():
        for connection in connections:
            loss = _loss(index, record, connection)
            if loss is not None and not index.contract_at(connection) and index.later(connection.end_seq, record):
                yield Met(loss)
                if loss in _DECLARED and _declared_later(index, record, connection):
                    yield Met(_DECLARED[loss])
            if not index.contract_at(connection) and _recovery_goes_on(index, record, connection):
                yield Met("recovery-under-way")
    for repeat in index.repeats:
        if repeat.why == "unknown":
            yield _second(repeat, "may have worked")


#: How the id was lost -> the cell in which a contract is declared afterwards.
_DECLARED = {"crash": "declared-after-crash", "dropped": "declared-after-loss"}


def _declared_later(index: Index, record: Record, connection: Connection) -> bool:
    """Whether repetitions are declared as safe behind a request, and something is asked under that declaration."""
    later = (at for at, config in index.configs if at > connection.seq and declares_replay(config, connection.path))
    return any(index.later(at, record) for at in later)


def _recovery_goes_on(index: Index, record: Record, connection: Connection) -> bool:
    """Whether a recovery that met the row expired and without a checkpoint ends while the remote has its request."""
    sent = connection.request_seq
    for pass_ in index.commands:
        within = sent is not None and pass_.seq < connection.seq and sent < pass_.until < connection.end_seq
        if not within or pass_.cmd not in ("push.work", "recover") or pass_.proc == connection.proc:
            continue
        clock = [(wall, trusted) for at, wall, trusted in index.times if at < pass_.seq][-1:]
        now = next((wall for wall, trusted in clock if trusted), None)
        for row in attempts(index.look_before(pass_.seq), record):
            mine = row["worker"] == connection.proc and row["state"] == "processing" and row["io_started_at"] is None
            if mine and now is not None and row["lease_expires_at"] is not None and row["lease_expires_at"] < now:
                return True
    return False


def _loss(index: Index, record: Record, connection: Connection) -> str | None:
    """How the id of a request was lost, or None."""
    if connection.how in _LOST:
        return _LOST[connection.how]
    killed = any(c is connection.command and seq > connection.seq for seq, c in index.killed_commands)
    if connection.how in (None, "abandoned"):
        return "crash" if killed and connection.read else None
    if connection.effect == "unknown":
        return "status" if connection.status and connection.status >= 400 else "malformed"
    if connection.effect == "done" and any(
        f.command is connection.command and f.seq > connection.end_seq and f.action == "fail" for f in index.faults
    ):
        last = index.looks[-1] if index.looks else None
        if last and not any(row["remote_id"] for row in (*attempts(last, record), *links(last, record))):
            return "id-not-captured"
    return None


_OVER = frozenset({"finalized", "terminal_failed", "superseded"})


@CHECKERS.checker("RETRY-006", "suite", "wire", "answer", "rows")
def post_is_over_once_the_id_is_durable(index: Index) -> Iterator[Finding]:
    """A crash after the id became durable leads to link and mirror, never to another request."""
    crashed: dict[Record, int] = {}
    for seq, command in index.killed_commands:
        for row in attempts(index.look_after(seq)):
            record = (row["object"], row["record"])
            if row["remote_id"] is not None and index.concerns(command, record):
                crashed.setdefault(record, seq)
    for fault, command in index.crashes:
        look = index.look_after(fault.seq)
        for row in attempts(look) if fault.point.endswith(":committed") else ():
            record = (row["object"], row["record"])
            under_way = row["remote_id"] is not None and row["state"] not in _OVER
            if under_way and index.concerns(command, record) and index.later(fault.seq, record):
                where = "before-mirror" if links(look, record) else "before-link"
                yield Met(where)
                if _repeatable(index, record, fault.seq):
                    yield Met(f"contract-{where}")
    for replay in index.replays:
        # The contract is for a request whose outcome is unknown; with the id on the rows it is known.
        if crashed.get(replay.record, replay.again.seq) < replay.again.seq:
            yield _second(replay, "left its remote id on the rows")
    for repeat in index.repeats:
        if repeat.why == "id" and crashed.get(repeat.record, repeat.again.seq) < repeat.again.seq:
            yield _second(repeat, "left its remote id on the rows")


def _repeatable(index: Index, record: Record, seq: int) -> bool:
    """Whether a request for the record had gone out under a contract that declares repetitions as safe."""
    mine = (c for c in index.by_record.get(record, ()) if c.seq < seq)
    return any(c.key is not None and index.contract_at(c) for c in mine)


def _second(repeat: Repeat | Replay, what: str) -> Violation:
    return Violation(
        f"one request for record {repeat.record[1]}: the first {what}",
        f"{repeat.again.proc} connected to the remote again",
        repeat.again.seq,
        "wire",
    )


@CHECKERS.checker("POST-034", "suite", "wire", "answer")
def a_replay_is_byte_for_byte(index: Index) -> Iterator[Finding]:
    """A repetition under the same key has the method, path and body of the first, whatever was edited in between."""
    for replay in index.replays:
        between = range(replay.first.seq, replay.again.seq)
        edited = [c for c in index.commands if c.cmd == "push.write_record" and c.seq in between]
        if any(record_of(c) == replay.record and c.outcome == "done" for c in edited):
            yield Met("record-edited")
        crash = "-after-crash" if replay.first.how in (None, "abandoned") else ""
        for surface in _edits(index, replay):
            yield Met(f"{surface}{crash}")
        for name in ("method", "path", "digest"):
            one, two = getattr(replay.first, name), getattr(replay.again, name)
            # A request of which nothing arrived cannot be compared.
            if one is not None and two is not None and one != two:
                yield Violation(
                    f"the frozen request for record {replay.record[1]}: {name} {one}",
                    f"{name} {two}",
                    replay.again.seq,
                    "wire",
                )
    for repeat in index.repeats:
        # The header of the key is of the frozen request: the same key under another one is no key to the remote.
        one, two = (_under(index, c.key) for c in (repeat.first, repeat.again))
        if one != two and one[1] == two[1] is not None and index.contract_at(repeat.first):
            yield Violation(
                f"the frozen request for record {repeat.record[1]}, its key in the header that the contract named",
                f"the same key in {two[0] or 'the header of another contract'}",
                repeat.again.seq,
                "wire",
            )


def _under(index: Index, key: str | None) -> tuple[str, str | None]:
    """The header of a key, empty for the one that the first configuration names, and the key."""
    name, _, value = (key or "").partition(" ")
    return (name, value) if value and name in index.key_headers else ("", key)


def _edits(index: Index, replay: Replay) -> Iterator[str]:
    """The parts of the configuration behind the first request that are others by the time of its repetition."""
    before, after = (index.started_with(c.proc, c.seq) for c in (replay.first, replay.again))
    one = _authored(before, lambda action: action["create_path"] == replay.first.path)
    if one is None:
        return
    two = _authored(after, lambda action: action["slot"] == one["slot"])
    if two is None:
        return
    for name, members in _SURFACES.items():
        if any(one[member] != two[member] for member in members):
            yield name
    if before["users"] != after["users"]:
        yield "rights-edited"


#: name -> the members of :func:`_authored` that it is made of.
_SURFACES: Mapping[str, tuple[str, ...]] = {
    "mapping-edited": ("mappings",),
    "path-edited": ("create_path",),
    "names-edited": ("namespace", "flow", "flow_version", "name", "target_object", "profile"),
    "contract-edited": ("replay",),
}


def _authored(config: Mapping[str, Any], wanted: Callable[[Mapping[str, Any]], bool]) -> Mapping[str, Any] | None:
    """The first action that is wanted, with the namespace of its pack and the replay contract of its profile."""
    for pack in config["packs"]:
        profiles = {p["destination_slot"]: p for p in pack["profiles"]}
        for action in pack["actions"]:
            if wanted(action) and action["destination_slot"] in profiles:
                contract = profiles[action["destination_slot"]]["replay"]
                return {**action, "namespace": pack["namespace"], "replay": contract}
    return None
