"""A record whose link is there: its POST is over, whoever comes by (POST-020)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.push.index import ACTIVE, Index, Record, Repeat, Replay, attempts, links, record_of
from conformance.checkers.push.registry import CHECKERS
from conformance.checkers.timeline import Command, Connection

#: What a save says of an attempt whose link is there.
_TOLD: Final = frozenset({"finalized", "writeback_pending", "linked"})


@CHECKERS.checker("POST-020", "suite", "wire", "answer", "rows")
def no_post_beside_a_finalized_link(index: Index) -> Iterator[Finding]:
    """A save, a worker or a recovery that comes by once a record has its link sends no create for it.

    Without rows a link is taken to be there once the save that sent the request had its answer and has said so.
    """
    for command in index.commands:
        for record in _tempted(index, command):
            if _linked_before(index, record, command.seq):
                yield Met("saved-again" if command.cmd == "push.trigger" else "worker")
                if command.cmd == "push.trigger" and _edited_since(index, record, command):
                    yield Met("edited")
            elif _linked_within(index, record, command):
                yield Met("raced")
    again: list[Repeat | Replay] = [*index.repeats, *index.replays]
    for found in again:
        # Who was on its way to the remote before, under a claim of its own, could not see the link any more.
        began = found.again.command.seq if found.again.command is not None and _held(index, found) else found.again.seq
        if _linked_before(index, found.record, began, found.again):
            yield Violation(
                f"no further create for record {found.record[1]}, which has its link",
                f"{found.again.proc} connected to the remote again",
                found.again.seq,
                "wire",
            )


def _held(index: Index, found: Repeat | Replay) -> bool:
    """Whether the process that sent again has had a claim on an attempt of the record in the course of its command.

    Without rows nobody can tell, and it is taken to have had one.
    """
    again, command = found.again, found.again.command
    looks = [look for look in index.looks if command is not None and command.seq < look.seq <= again.seq]
    mine = (row for look in looks for row in attempts(look, found.record) if row["worker"] == again.proc)
    return not index.looks or any(mine)


def _tempted(index: Index, command: Command) -> list[Record]:
    """The records that a command might send a create for."""
    if command.cmd == "push.trigger":
        record = record_of(command)
        return [record] if record is not None else []
    return list(index.by_record) if command.cmd in ("push.work", "recover") else []


def _linked_before(index: Index, record: Record, seq: int, again: Connection | None = None) -> bool:
    """Whether the key under which a record would be sent is known to have a finalized link ahead of an event."""
    if index.looks:
        look = index.look_before(seq)
        # What is sent under another key, as after a change of the slot, is another object to the remote.
        under = index.look_at(again) if again is not None else look
        keys = {row["link_key"] for row in attempts(under, record) if row["state"] in ACTIVE}
        found = (row["link_key"] for row in links(look, record) if row["state"] == "finalized")
        return any(not keys or key in keys for key in found)
    sent = (c for c in index.by_record.get(record, ()) if c.seq < seq and c.effect == "done" and c.how == "answered")
    # What becomes of a link whose record is deleted is not shown without rows.
    gone = (c.seq for c in index.commands if c.cmd == "push.delete_record" and record_of(c) == record and c.seq < seq)
    sent = (c for c in sent if c.seq > max(gone, default=-1))
    return any(
        c.command is not None
        and c.command.outcome == "done"
        and c.command.until < seq
        and any(push["status"] in _TOLD for push in c.command.result.get("pushes", ()))
        and not index.superseded_between(record, c.seq, seq)
        for c in sent
    )


def _linked_within(index: Index, record: Record, command: Command) -> bool:
    """Whether another worker made the link of a record while this one stood ahead of a write, with nothing sent yet."""
    stops = (f.seq for f in index.faults if f.command is command and f.action == "pause" and f.point.endswith(":begin"))
    stood = next(stops, None)
    if stood is None or any(c.seq < stood for c in index.connections_of(command)):
        return False
    within = (c for c in index.during(command, frozenset({"push.work"})) if c.seq > stood and c.outcome == "done")
    shown = (index.look_after(c.until) for c in within)
    return any(look is not None and _linked_before(index, record, look.seq + 1) for look in shown)


def _edited_since(index: Index, record: Record, save: Command) -> bool:
    """Whether the record was written again since its first request."""
    first = next(iter(index.by_record.get(record, ())), None)
    written = (c for c in index.commands if c.cmd == "push.write_record" and record_of(c) == record)
    return first is not None and any(first.seq < c.seq < save.seq for c in written)
