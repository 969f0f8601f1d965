"""One attempt at a time, durable before anything is sent (ATT-004, POST-023, POST-028)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.push.index import ACTIVE, Index, Record, attempts, record_of
from conformance.checkers.push.registry import CHECKERS
from conformance.checkers.timeline import Command, Fault, Look

RESERVE = ("create_attempt", None, "pending")


@CHECKERS.checker("ATT-004", "suite", "wire", "answer", "rows")
def one_active_attempt(index: Index) -> Iterator[Finding]:
    """Whatever state the attempt of a record is in, another save adds no second active one; nor do saves at once."""
    for save in index.saves:
        record = record_of(save)
        if record is None:
            continue
        for state in {row["state"] for row in attempts(index.look_before(save.seq), record)} & set(ACTIVE):
            if state not in _HELD or _holder_lives(index, save, record):
                yield Met(state.replace("_", "-"))
        if _edited_lookup(index, save, record):
            yield Met("edited-lookup")
        for other in index.during(save, frozenset({"push.trigger"})):
            if record_of(other) == record and not attempts(index.look_before(other.seq), record):
                yield Met("at-once")
    for look in index.looks:
        count = Counter(row["link_key"] for row in attempts(look) if row["state"] in ACTIVE)
        for key, number in count.items():
            if number > 1:
                yield Violation(
                    f"one active attempt for link key {key[:6]}", f"its rows show {number}", look.seq, "rows"
                )
                return
    for repeat in index.repeats:
        if repeat.why == "overlap":
            yield Violation(
                f"one create under way for record {repeat.record[1]}",
                f"{repeat.again.proc} sent another while the request of {repeat.first.proc} was under way",
                repeat.again.seq,
                "wire",
            )


#: States in which somebody is at work on the attempt: only then are they met, not where a crash left the row behind.
_HELD = frozenset({"processing", "post_sent", "writeback_commit_pending"})


def _holder_lives(index: Index, save: Command, record: Record) -> bool:
    """Whether another process has a command under way that may hold the record's attempt."""
    under_way = (c for c in index.commands if c.proc != save.proc and c.seq < save.seq < c.until)
    return any(index.concerns(c, record) for c in under_way)


def _edited_lookup(index: Index, save: Command, record: Record) -> bool:
    """Whether the lookups of a record name other targets than when its active attempt was first seen."""
    look = index.look_before(save.seq)
    lookups = [
        association["lookup"]
        for pack in index.config_at(save.seq)["packs"]
        for action in pack["actions"]
        if action["source_object"] == record[0]
        for association in action["associations"]
    ]
    active = {row["attempt"] for row in attempts(look, record) if row["state"] in ACTIVE}
    first = next((at for at in index.looks if active & {row["attempt"] for row in attempts(at, record)}), None)
    return bool(lookups and active) and _named(first, record, lookups) != _named(look, record, lookups)


def _named(look: Look | None, record: Record, lookups: list[str]) -> list[str]:
    rows = look.kinds.get("records", ()) if look else ()
    fields: Mapping[str, Any] = next((row["fields"] for row in rows if (row["object"], row["id"]) == record), {})
    return [str(fields.get(lookup) or "") for lookup in lookups]


@CHECKERS.checker("POST-023", "suite", "wire", "answer", "rows")
def a_terminal_attempt_keeps_the_slot(index: Index) -> Iterator[Finding]:
    """A save that finds a terminal_failed attempt which nobody superseded reserves and sends nothing."""
    failed_at: dict[str, int] = {}
    for look in index.looks:
        for row in attempts(look):
            if row["state"] == "terminal_failed":
                failed_at.setdefault(row["attempt"], look.seq)
    for save in index.saves:
        record = record_of(save)
        before = attempts(index.look_before(save.seq), record)
        terminal = [row["attempt"] for row in before if row["state"] == "terminal_failed"]
        if record is None or not terminal:
            continue
        # An act closes what had failed by then: the failure that counts is the latest one.
        latest = max(failed_at[attempt] for attempt in terminal)
        restarted = any(seq > latest for seq, _ in index.kills if seq < save.seq)
        yield Met("after-restart" if restarted else "same-process")
        if any(row["state"] == "superseded" for row in before):
            yield Met("failed-again")
        if any(row["state"] == "terminal_failed" and row["io_started_at"] is None for row in before):
            yield from (Met(cell) for cell in _closed_unsent(index, record, save.seq))
        after = index.look_after(save.until)
        known = {row["attempt"] for row in before}
        for row in attempts(after, record):
            if row["attempt"] not in known and not index.superseded_between(record, latest, save.until):
                yield Violation(
                    f"no further attempt for record {record[1]} beside {terminal[-1][-6:]}, which is terminal_failed",
                    f"attempt {row['attempt'][-6:]} was reserved",
                    save.until,
                    "rows",
                )
    for repeat in index.repeats:
        before = attempts(index.look_before(repeat.again.seq), repeat.record)
        shown = not index.looks or any(row["state"] == "terminal_failed" for row in before)
        if repeat.why == "refused" and shown:
            yield Violation(
                f"no request for record {repeat.record[1]} after the remote had refused it",
                f"{repeat.again.proc} connected to the remote again, and nobody had superseded the attempt",
                repeat.again.seq,
                "wire",
            )


def _closed_unsent(index: Index, record: Record, seq: int) -> Iterator[str]:
    """The ways in which an attempt came to its end without a request: what it stood for is there again by now."""
    done = [c for c in index.commands if record_of(c) == record and c.until < seq and c.result.get("status") == "done"]
    if any(c.cmd == "push.restore_record" for c in done):
        yield "record-restored"
    if any(c.cmd == "push.operate" and c.args.get("act") == "give_up" for c in done):
        yield "given-up"


@CHECKERS.checker("POST-028", "suite", "wire", "answer", "rows")
def reserved_before_the_first_byte(index: Index) -> Iterator[Finding]:
    """A reservation that failed sends nothing; one that is sent was visible to another connection before."""
    for fault in index.faults:
        if RESERVE not in fault.changes or fault.command is None or fault.action not in ("fail", "lose-ack", "crash"):
            continue
        what = _undone(fault)
        if what is not None:
            yield Met(what)
            for connection in index.connections_of(fault.command):
                if connection.seq > fault.seq and not _reserved(index, connection.seq, index.record_of(connection)):
                    yield Violation(
                        "no request once the reservation was not committed",
                        f"{fault.proc} connected to the remote",
                        connection.seq,
                        "wire",
                    )
    for connection in index.connections:
        look = index.look_at(connection)
        record = index.record_of(connection)
        if look is None or record is None:
            continue
        yield Met("at-request")
        if not attempts(look, record):
            yield Violation(
                f"an attempt for record {record[1]} that another connection can see when its request arrives",
                "there is none in the rows",
                connection.request_seq or connection.seq,
                "rows",
            )
    for seq, command in index.killed_commands:
        for connection in index.connections_of(command):
            record = index.record_of(connection)
            if (
                connection.read
                and connection.how in (None, "abandoned")
                and record is not None
                and index.later(seq, record)
            ):
                yield Met("killed-at-request")


def _undone(fault: Fault) -> str | None:
    """How a reservation certainly did not come to be, or None."""
    if fault.action == "fail":
        return "reservation-failed"
    if fault.action == "lose-ack":
        return "reservation-rolled-back" if fault.world == "rolled_back" else None
    return None if fault.point.endswith(":committed") else "crash-before-commit"


def _reserved(index: Index, seq: int, record: Record | None) -> bool:
    return record is not None and bool(attempts(index.look_before(seq), record))
