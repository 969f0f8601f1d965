"""The claim and the I/O checkpoint (ATT-015, ATT-016)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.push.index import Index, Record, attempts, record_of
from conformance.checkers.push.registry import CHECKERS
from conformance.checkers.timeline import Command


@dataclass(frozen=True, slots=True)
class Lost:
    """A claim that was taken from a process before it had written the checkpoint, while its command went on."""

    seq: int
    attempt: str
    record: Record
    lane: str
    command: Command


def lost_claims(index: Index) -> Iterator[Lost]:
    """Every claim that somebody else ended, with the checkpoint still empty."""
    held: dict[str, tuple[str, str, bool]] = {}
    since = 0
    for look in index.looks:
        for row in attempts(look):
            before = held.get(row["attempt"])
            # A holder is a worker and its token: tokens that repeat do not make one holder of two workers.
            if before is not None and (row["worker"], row["claim"]) != before[:2] and before[2]:
                command = _outstanding(index, before[0], look.seq)
                others = any(c.proc != before[0] and since < c.seq < look.seq for c in index.commands)
                if command is not None and others:
                    yield Lost(look.seq, row["attempt"], (row["object"], row["record"]), row["lane"], command)
            if row["claim"] is None:
                held.pop(row["attempt"], None)
            else:
                held[row["attempt"]] = (row["worker"], row["claim"], row["io_started_at"] is None)
        since = look.seq


def _outstanding(index: Index, proc: str, seq: int) -> Command | None:
    return next((c for c in reversed(index.commands) if c.proc == proc and c.seq < seq < c.until), None)


@CHECKERS.checker("ATT-015", "suite", "wire", "answer", "rows")
def checkpoint_belongs_to_the_claim(index: Index) -> Iterator[Finding]:
    """A worker whose claim was taken away before its checkpoint writes none and sends nothing when it wakes."""
    for lost in lost_claims(index):
        if lost.command.outcome == "done":
            yield Met("worker" if lost.command.cmd == "push.work" else "request-thread")
            if lost.lane == "deferred_association":
                yield Met("deferred")
        for connection in index.connections_of(lost.command):
            if connection.seq > lost.seq and index.record_of(connection) == lost.record:
                yield Violation(
                    f"no request of {lost.command.proc} once attempt {lost.attempt[-6:]} was claimed by somebody else",
                    f"{lost.command.proc} connected to the remote",
                    connection.seq,
                    "wire",
                )
        yield from _written_for_another(index, lost)


def _written_for_another(index: Index, lost: Lost) -> Iterator[Violation]:
    """A checkpoint under a claim whose holder ended its command without a request was written by somebody else."""
    for holder in index.commands:
        # Whoever a fault or a kill has struck may have written its checkpoint and got no further.
        struck = any(fault.command is holder and fault.action != "pause" for fault in index.faults)
        if holder.proc == lost.command.proc or holder.until < lost.seq or holder.outcome != "done" or struck:
            continue
        if any(index.record_of(connection) == lost.record for connection in index.connections_of(holder)):
            continue
        look = index.look_after(holder.until)
        for row in attempts(look, lost.record):
            mine = row["attempt"] == lost.attempt and row["worker"] == holder.proc and row["state"] == "processing"
            if look is not None and mine and row["io_started_at"] is not None:
                yield Violation(
                    f"RemoteIOStartedAt of attempt {lost.attempt[-6:]} written by {holder.proc} alone, which holds it",
                    f"it is set, {holder.proc} has sent nothing, and {lost.command.proc} went on without its claim",
                    look.seq,
                    "rows",
                )
                return


@CHECKERS.checker("ATT-016", "suite", "wire", "answer", "rows")
def checkpoint_is_the_last_commit_before_the_request(index: Index) -> Iterator[Finding]:
    """At every request the checkpoint is durable; where validation fails it stays empty."""
    for connection in index.connections:
        look, record = index.look_at(connection), index.record_of(connection)
        mine = attempts(look, record) if record else []
        if not mine:
            continue
        newest = next((row for row in mine if row["worker"] == connection.proc), mine[-1])
        how = "worker" if connection.command and connection.command.cmd == "push.work" else "request-thread"
        yield Met("deferred" if newest["lane"] == "deferred_association" else how)
        if newest["io_started_at"] is None:
            yield Violation(
                f"RemoteIOStartedAt of attempt {newest['attempt'][-6:]} durable when its request arrives",
                "it is empty",
                connection.request_seq or connection.seq,
                "rows",
            )
    yield from _stopped_short(index)
    yield from _after_failed_validation(index)


#: Calls inside of a transaction that is not committed yet: whatever the rows show was committed before it.
_INSIDE = frozenset({"begin", "tx-read", "write", "commit"})


def _stopped_short(index: Index) -> Iterator[Finding]:
    """Where a commit ahead of the request failed, the checkpoint is empty: it would have come after that commit."""
    for fault in index.faults:
        undone = fault.action in ("fail", "crash") or fault.world == "rolled_back"
        if fault.command is None or not undone or fault.point.rpartition(":")[2] not in _INSIDE:
            continue
        before = {row["attempt"]: row for row in attempts(index.look_before(fault.command.seq))}
        sent = {index.record_of(c) for c in index.connections_of(fault.command)}
        look = index.look_after(fault.seq)
        for row in attempts(look):
            earlier = before.get(row["attempt"])
            fresh = earlier is None or (earlier["state"] == "pending" and earlier["io_started_at"] is None)
            mine = row["worker"] == fault.proc and row["state"] == "processing"
            if look is None or not fresh or not mine or (row["object"], row["record"]) in sent:
                continue
            if fault.action == "crash":
                yield Met("stopped-deferred" if row["lane"] == "deferred_association" else "stopped-short")
            if row["io_started_at"] is not None:
                yield Violation(
                    f"an empty checkpoint on attempt {row['attempt'][-6:]}, a commit ahead of its request being undone",
                    f"it is set, and {fault.proc} has sent nothing",
                    look.seq,
                    "rows",
                )
                return


def _after_failed_validation(index: Index) -> Iterator[Finding]:
    for deletion in index.commands:
        record = record_of(deletion)
        if deletion.cmd != "push.delete_record" or deletion.result.get("status") != "done" or record is None:
            continue
        look = index.look_before(deletion.seq)
        # A command that has begun since and goes on, its request not read by the remote, may have sent unseen.
        if look is None or any(look.seq < c.seq < deletion.seq < c.until for c in index.commands):
            continue
        unsent = {
            row["attempt"]
            for row in attempts(look, record)
            if row["state"] == "pending" and row["io_started_at"] is None
        }
        if not unsent or any(c.cmd == "push.restore_record" and c.seq > deletion.seq for c in index.commands):
            continue
        if any(c.cmd == "push.work" and c.seq > deletion.until and c.outcome == "done" for c in index.commands):
            yield Met("validation-failed")
        for look in index.looks:
            for row in attempts(look, record) if look.seq > deletion.until else ():
                if row["attempt"] in unsent and row["io_started_at"] is not None:
                    yield Violation(
                        f"RemoteIOStartedAt of attempt {row['attempt'][-6:]} empty, its record being gone",
                        "it is set",
                        look.seq,
                        "rows",
                    )
                    return
