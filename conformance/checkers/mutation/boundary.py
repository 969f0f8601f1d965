"""Which rows of the replay boundary table a history exercised: what each keyed invocation met at its key."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.mutation.access import denial
from conformance.checkers.mutation.facts import Command
from conformance.checkers.mutation.index import Index

_EQUAL = {"Pending": "pending_equal", "Replayable": "known_equal", "Quarantined": "quarantined_equal"}


def boundary_rows(index: Index) -> Iterator[str]:
    """The row of each keyed invocation, as it was when the call came."""
    met = {m.command.seq: m for m in index.slots.claims}
    for command in index.invocations:
        if not command.key or not command.config:
            continue
        meeting = met.get(command.seq)
        if denial(index, command, command.seq) is not None:
            yield "access_denied"
        elif command.under(command.config).first == "freshness":
            yield "stale_revision"
        elif command.seq not in index.slots.at:
            continue
        elif unread(index, command):
            yield "index_unreadable"
        elif meeting is not None:
            row = _EQUAL.get(meeting.state) if meeting.equal else "live_different"
            if row is not None and meeting.state != "Unresolved":
                yield row
        elif index.slots.by_rows:
            held = any(
                g.holds(command.seq) for g in index.slots.of(index.slots.at[command.seq]) if g.owner is not command
            )
            yield "retention_over" if held else "no_reservation"


def unread(index: Index, command: Command) -> bool:
    """Whether a read failed while the call was on its way to the index."""
    reads = (f for f in index.faults if f.command is command and f.action == "fail" and not f.changes)
    return any(f.point.rpartition(":")[2] in ("read", "tx-read") for f in reads)
