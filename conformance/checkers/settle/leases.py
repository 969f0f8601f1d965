"""Claims that others hold: one execution at a time in a lane, running leases, results under a lost token (SETTLE)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.settle.claims import polls
from conformance.checkers.settle.index import SLACK_MS, Attempt, Index, alone, nearly_over
from conformance.checkers.settle.registry import CHECKERS
from conformance.checkers.settle.returns import waits
from conformance.checkers.settle.stored import Stored
from conformance.checkers.timeline import Command
from statemachines.lanes import precedes


def _held(event: Stored, now: int) -> bool:
    lease = event.raw["lease_expires_at"]
    return event.state == "processing" and (lease is None or lease > now + SLACK_MS)


@CHECKERS.checker("SETTLE-039", "suite", "answer", "rows")
def later_rows_wait_for_the_running_one(index: Index) -> Iterator[Finding]:
    """While a row of a lane is executed, its lease running, no later row of the lane is claimed; other lanes go on.

    A wall clock that is not trusted ends no lease here either.
    """
    for command, before, now in polls(index):
        lane = index.lane_of(command.result.get("event", 0))
        for running in (e for e in before.events.values() if e.state == "processing"):
            over = not _held(running, now)
            if over and not _runs_unattested(index, running, command):
                continue
            later = [
                e
                for e in before.lane(running.lane)
                if e.state == "pending" and not waits(e, now) and precedes(running.key, e.key)
            ]
            if not later:
                continue
            yield Met("untrusted" if over else "later-row-waits")
            if not running.ordinal:
                yield Met("zero-row-runs")
            if not index.settled(running.lane):
                yield Met("existing-mode")
            if command.args.get("event") in {e.id for e in later}:
                yield Met("asked-by-name")
            if lane is not None and lane != running.lane:
                yield Met("other-lane-claimed")
            if command.result.get("event") in {e.id for e in later}:
                yield Violation(
                    f"row {command.result['event']} waits while row {running.id} is executed",
                    "it was claimed",
                    command.until,
                    "answer",
                )


@CHECKERS.checker("SETTLE-040", "suite", "answer", "rows")
def a_running_lease_is_respected(index: Index) -> Iterator[Finding]:
    """Neither recovery nor another worker takes a claim back whose lease still runs and whose holder lives.

    Nobody concludes from a wall clock that is not trusted that a lease is over. What the holder reports counts.
    """
    yield from _refused(index)
    yield from _taken_back_unseen(index)
    for command in index.commands:
        if command.cmd not in ("recover", "lane.claim") or command.outcome != "done" or not alone(index, command):
            continue
        before, now = index.before(command.seq), index.now(command.seq)
        for event in before.events.values():
            holder = _holder(index, event, command.seq)
            if holder is None or holder.proc == command.proc:
                continue
            # A lease ends when its time is over, whatever end a host stores for it.
            ends = max(event.raw["lease_expires_at"] or 0, index.now(holder.claim.seq) + index.lease_ms)
            over = event.state != "processing" or ends <= now + SLACK_MS
            if over and not _only_untrusted(index, holder, command):
                continue
            actor = "recovery" if command.cmd == "recover" else "other-worker"
            yield Met(f"untrusted-{actor}" if over else actor)
            if nearly_over(ends, now):
                yield Met(f"{actor}-nearly-over")
            after = index.result_view(command).events.get(event.id)
            if after is None or after.state != "processing" or after.token != event.token:
                stands = "gone" if after is None else after.state
                yield Violation(
                    f"row {event.id} stays in the hands of {holder.proc}", f"it is {stands}", command.until, "rows"
                )
                return


def _taken_back_unseen(index: Index) -> Iterator[Finding]:
    """A recovery that met a lease over goes on when another worker has claimed the row: that claim is a new one."""
    for command in (c for c in index.commands if c.cmd == "recover" and c.outcome == "done"):
        for attempt in index.attempts:
            claim = attempt.claim
            within = command.seq < claim.seq and claim.until < command.until and attempt.proc != command.proc
            ended = any(f.seq < command.until for f in attempt.finishes) or any(
                claim.seq < at < command.until and proc == attempt.proc for at, proc in index.kills
            )
            over = index.now(claim.seq) + index.lease_ms <= index.now(command.until) + SLACK_MS
            if not within or ended or over:
                continue
            yield Met("claimed-meanwhile")
            held, after = (index.result_view(c).events.get(attempt.head) for c in (claim, command))
            if held is None or after is None or after.state != "processing" or after.token != held.token:
                yield Violation(
                    f"row {attempt.head} stays in the hands of {attempt.proc}, which claimed it meanwhile",
                    f"it is {'gone' if after is None else after.state}",
                    command.until,
                    "rows",
                )
                return


def _only_untrusted(index: Index, holder: Attempt, command: Command) -> bool:
    """Whether a lease is over by a wall clock only that nobody attests, and by elapsed time still runs."""
    elapsed = index.elapsed(command.until) - index.elapsed(holder.claim.seq)
    return not index.trusted(command.seq) and elapsed < index.lease_ms - SLACK_MS


def _refused(index: Index) -> Iterator[Finding]:
    """The result of a worker that holds its row, its lease running, counts."""
    for attempt in index.attempts:
        for report in attempt.finishes:
            event = index.before(report.seq).events.get(attempt.head)
            if event is None or not alone(index, report) or _holder(index, event, report.seq) is not attempt:
                continue
            # Whether a late result is refused is open, and so is whether the wall clock must be trusted for that.
            if not _held(event, index.now(report.until)) or _taken_over(index, attempt, event):
                continue
            yield Met("report")
            if report.result.get("status") == "lost":
                yield Violation(
                    f"the result of {attempt.proc}, which holds row {event.id}",
                    "it was told that the row is lost to it",
                    report.until,
                    "answer",
                )


def _taken_over(index: Index, attempt: Attempt, event: Stored) -> bool:
    """Whether another claim of the row, which nobody was told of yet, stands by now."""
    mine = index.result_view(attempt.claim).events.get(event.id)
    return mine is not None and mine.token != event.token


def _runs_unattested(index: Index, event: Stored, command: Command) -> bool:
    """Whether the holder of a row lives, and its lease is over by a wall clock only that nobody attests."""
    holder = _holder(index, event, command.seq)
    return holder is not None and _only_untrusted(index, holder, command)


def _holder(index: Index, event: Stored, seq: int) -> Attempt | None:
    """The attempt of the living process that claimed a row last and has reported nothing yet."""
    for attempt in reversed(index.of_head.get(event.id, ())):
        if attempt.claim.until < seq:
            killed = any(attempt.claim.seq < at < seq and proc == attempt.proc for at, proc in index.kills)
            reported = any(f.seq < seq for f in attempt.finishes)
            return None if killed or reported else attempt
    return None


@CHECKERS.checker("SETTLE-041", "suite", "answer", "rows")
def a_stale_result_is_not_recorded(index: Index) -> Iterator[Finding]:
    """What a worker reports after another one has claimed its row changes nothing."""
    for attempt in index.attempts:
        for report in attempt.finishes:
            taken = [
                a
                for a in index.of_head[attempt.head]
                if a.number > attempt.number
                and a.claim.until < report.seq
                and not any(f.seq < report.seq for f in a.finishes)
            ]
            if not taken:
                continue
            yield Met(report.args["outcome"])
            lane = index.lane_of(attempt.head)
            before, after = index.before(report.seq), index.result_view(report)
            changed = lane is not None and [e.raw for e in before.lane(lane)] != [e.raw for e in after.lane(lane)]
            if report.result.get("status") == "recorded" or changed:
                yield Violation(
                    f"nothing of what {attempt.proc} reports on row {attempt.head}, which {taken[-1].proc} holds now",
                    "rows changed" if changed else "it was told that its result is recorded",
                    report.until,
                    "rows" if changed else "answer",
                )
