"""Rows that come back from a failure or a lost lease, and how long they wait then."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.settle.index import SLACK_MS, Attempt, Index, alone
from conformance.checkers.settle.stored import Stored


def waits(event: Stored, now: int) -> bool:
    """Whether the time of a pending row has certainly not come."""
    return event.state == "pending" and event.not_before is not None and event.not_before > now + SLACK_MS


def _returned(index: Index) -> Iterator[tuple[Stored, int, int]]:
    """(row as it came back, event, how long it waits from then) for each claim that ended without any report."""
    for attempt in index.attempts:
        found = None if attempt.finishes else _back(index, attempt)
        if found is not None:
            event, seq = found
            times = [time for time in (event.not_before, event.run_after) if time is not None]
            yield event, seq, max([0, *(time - index.now(seq) for time in times)])


def _back(index: Index, attempt: Attempt) -> tuple[Stored, int] | None:
    for look, view in index.views:
        event = view.events.get(attempt.head) if look.seq > attempt.claim.until else None
        if event is not None and event.state != "processing":
            again = any(attempt.number < a.number and a.claim.seq < look.seq for a in index.of_head[attempt.head])
            return None if again or event.state != "pending" else (event, look.seq)
    return None


def a_backoff_is_not_moved(index: Index) -> Iterator[Finding]:
    """Neither a delivery nor a recovery moves the time of a settled row that waits for its backoff."""
    for command in (c for c in index.commands if c.cmd in ("lane.deliver", "recover") and alone(index, c)):
        before, after = index.before(command.seq), index.result_view(command)
        lanes = {(r["id"], e["source"]) for e in command.args.get("events", ()) for r in index.routes_of(e["kind"])}
        for event in before.events.values():
            if not waits(event, index.now(command.until)) or not event.raw["attempts"] or not index.settled(event.lane):
                continue
            if command.cmd == "recover" or event.lane in lanes:
                yield Met("undisturbed")
            later = after.events.get(event.id)
            if later is not None and later.state == "pending" and later.not_before != event.not_before:
                yield Violation(
                    f"row {event.id} waits for its backoff until {event.not_before}",
                    f"it waits until {later.not_before}",
                    command.until,
                    "rows",
                )


def a_lost_lease_opens_no_window(index: Index) -> Iterator[Finding]:
    """A settled row that lost its lease waits no longer than one of an existing mode does, or for the backoff.

    Whether a lost lease is followed by a backoff, a pause or by neither is open, so another route of the host tells.
    """
    back = list(_returned(index))
    usual = [delay for event, _, delay in back if not index.settled(event.lane)]
    for event, seq, delay in back:
        if not usual or not index.settled(event.lane):
            continue
        yield Met("lease-lost")
        known = [0, index.backoff_ms, *usual]
        if all(abs(delay - other) > SLACK_MS for other in known):
            yield Violation(
                f"row {event.id}, which lost its lease, back as on a route of an existing mode, after {usual[0]} ms",
                f"it waits for {delay} ms until {event.not_before}",
                seq,
                "rows",
            )
