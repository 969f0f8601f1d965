"""Claims: not before their time and not without need, and what an attempt costs (SETTLE)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.settle.bursts import beside, burst
from conformance.checkers.settle.index import SLACK_MS, Attempt, Index, alone, nearly_over
from conformance.checkers.settle.registry import CHECKERS
from conformance.checkers.settle.returns import (
    a_backoff_is_not_moved,
    a_lost_lease_opens_no_window,
    waits,
)
from conformance.checkers.settle.stored import Lane, Stored, View
from conformance.checkers.settle.window import LATEST, still_open
from conformance.checkers.timeline import Command
from statemachines.lanes import has_cycle, precedes


def polls(index: Index) -> Iterator[tuple[Command, View, int]]:
    """(claim, rows before it, the latest time that it can have seen) for every claim that was answered undisturbed."""
    struck = {f.command.seq for f in index.faults if f.command is not None}
    for command in index.commands:
        if command.cmd == "lane.claim" and command.outcome == "done" and command.seq not in struck:
            yield command, index.before(command.seq), index.now(command.until)


def _due(event: Stored, now: int) -> bool:
    """Whether the time of a pending row has certainly come."""
    return event.state == "pending" and (event.not_before is None or event.not_before <= now - SLACK_MS)


def claimable(view: View, lane: Lane, now: int) -> list[Stored]:
    """The pending rows of a lane that a poll must be able to claim: nothing runs, and all are certainly due."""
    pending = [e for e in view.lane(lane) if e.state == "pending"]
    late = [e for e in pending if e.not_before is not None and e.not_before > now - SLACK_MS]
    return [] if late or view.running(lane) else pending


def _told_nothing(index: Index, command: Command) -> bool:
    return command.result.get("status") == "nothing" and alone(index, command)


def _nothing(index: Index, command: Command) -> bool:
    return "event" not in command.args and _told_nothing(index, command)


@CHECKERS.checker("SETTLE-002", "suite", "answer", "rows")
def settling_is_opt_in(index: Index) -> Iterator[Finding]:
    """A latest-by-source full-record row of an existing mode is claimable at once, while a settled one waits."""
    for command, before, now in polls(index):
        fresh = [
            lane
            for lane, events in before.lanes.items()
            if index.modes.get(lane[0]) in LATEST
            and not before.running(lane)
            and any(e.state == "pending" for e in events)
            and all(not e.raw["attempts"] for e in events if e.state == "pending")
        ]
        if any(index.settled(lane) and waits(e, now) for lane, events in before.lanes.items() for e in events):
            yield Met("opted-in")
        head = index.lane_of(command.result.get("event", 0))
        if head is not None and head in fresh:
            yield Met("not-opted-in")
        if _nothing(index, command) and fresh:
            yield Violation(
                f"a claim in lane {'/'.join(fresh[0])}, whose mode is not the settled one",
                "nothing was claimed",
                command.until,
                "answer",
            )


@CHECKERS.checker("SETTLE-003", "suite", "answer", "rows")
def nothing_starts_in_the_window(index: Index) -> Iterator[Finding]:
    """While the window of a burst is open no poll starts an execution of it, whatever else becomes due in its lane."""
    workers: set[str] = set()
    for command, before, now in polls(index):
        # What appeared while the claim was under way, or was taken back from a lapsed lease, is no row of the burst.
        rows = {e.id: e for lane in before.lanes for e in burst(index, before, lane, now, command.seq)}
        if not rows:
            continue
        if "event" not in command.args:
            workers.add(command.proc)
            yield Met("polled" if len(workers) == 1 else "by-several")
            yield from (Met(cell) for cell in _polled_beside(index, before, list(rows.values()), command.seq))
            if any(nearly_over(e.not_before, now) for e in rows.values()):
                yield Met("nearly-over")
        claimed = rows.get(command.result.get("event", 0))
        # By name, what is stored on the row is asked elsewhere; here, whether that agrees with its window.
        if claimed is not None and not ("event" in command.args and waits(claimed, now)):
            yield Violation(
                "no execution of a burst while its window is open",
                f"row {claimed.id} was claimed",
                command.until,
                "answer",
            )
        elif command.result.get("status") == "claimed" and alone(index, command):
            yield from _taken_in(index, command, [e for e in rows.values() if not waits(e, now)])


def _polled_beside(index: Index, view: View, rows: list[Stored], seq: int) -> Iterator[str]:
    """What else there is, or was, in the lanes of bursts that a poll meets in their window."""
    for event in rows:
        if index.births[event.id].before.running(event.lane):
            yield "behind-execution"
        again = (c for c in index.commands if c.cmd == "lane.deliver" and index.births[event.id].seq < c.seq < seq)
        if any(c.args["delivery"] == event.raw["delivery"] for c in again):
            yield "sent-again"
        aside = (beside(index, e, seq) for e in view.lane(event.lane) if e.state == "pending")
        yield from (cell for cell in aside if cell is not None)


def _taken_in(index: Index, command: Command, due: list[Stored]) -> Iterator[Violation]:
    """A claim takes in rows that were made due inside their window.

    A head that is due may take in rows that are not (ambiguity 'Directly claimable'), but they become due no earlier.
    """
    after = index.result_view(command)
    for event in due:
        now = after.events.get(event.id)
        if now is not None and now.state != "pending":
            yield Violation(
                f"row {event.id} waits until its window is over",
                f"it was made due at {event.not_before}, and taken in by row {command.result['event']}",
                command.until,
                "rows",
            )
            return


@CHECKERS.checker("SETTLE-021", "suite", "answer", "rows")
def nothing_is_claimed_early(index: Index) -> Iterator[Finding]:
    """A pending Event is not claimable before its NextAttemptAt, by a poll or by name, in the window or in backoff."""
    for command, before, now in polls(index):
        named = command.args.get("event")
        for event in before.events.values():
            if not waits(event, now) or (named is not None and named != event.id):
                continue
            backoff = bool(event.raw["attempts"])
            yield Met("backoff" if backoff else "by-name" if named is not None else "by-poll")
            if named is not None and any(_due(e, now) for e in before.lane(event.lane)):
                yield Met("named-in-backoff" if backoff else "named-in-a-due-lane")
            in_burst = named is None and bool(burst(index, before, event.lane, now, command.seq))
            if command.result.get("event") == event.id and not in_burst:
                yield Violation(
                    f"row {event.id} not claimed before {index.when(event.not_before)}",
                    f"it was, at about {index.when(now)}",
                    command.until,
                    "answer",
                )


def _asked_for(index: Index, command: Command, rows: list[Stored]) -> Stored | None:
    """The row that a claim names, if it could be the head by any reading: alone, or behind rows never tried."""
    asked = next((e for e in rows if e.id == command.args.get("event")), None)
    if asked is None or len(rows) == 1:
        return asked
    others = [e for e in rows if e is not asked]
    last = all(precedes(e.key, asked.key) and not index.tried(e, command.seq) for e in others)
    return asked if last and index.modes.get(asked.lane[0]) != "each" else None


@CHECKERS.checker("SETTLE-022", "suite", "answer", "rows")
def what_is_due_is_claimable(index: Index) -> Iterator[Finding]:
    """A pending row whose NextAttemptAt has come is claimed by the next poll of a free lane, or by its name."""
    for command, before, now in polls(index):
        for lane in before.lanes:
            rows = claimable(before, lane, now)
            timed = index.settled(lane) or any(e.not_before is not None for e in rows)
            if not rows or not timed or has_cycle(e.key for e in rows):
                continue
            if command.result.get("event") in {e.id for e in rows}:
                yield Met("retry" if any(index.tried(e, command.seq) for e in rows) else "due")
            asked = _asked_for(index, command, rows)
            if asked is not None and command.result.get("event") == asked.id:
                lost, tried = index.lease_lost(asked.id, command.seq), index.tried(asked, command.seq)
                yield Met("named-after-lease" if lost else "named-after-failure" if tried else "named")
            if _nothing(index, command) or (asked is not None and _told_nothing(index, command)):
                due = asked or rows[0]
                yield Violation(
                    f"a claim of row {due.id}, due since {index.when(due.not_before) if due.not_before else 'it came'}",
                    "nothing was claimed",
                    command.until,
                    "answer",
                )
                return


@CHECKERS.checker("SETTLE-007", "suite", "answer", "rows")
def waiting_is_finite(index: Index) -> Iterator[Finding]:
    """Once the window that a row was born with has passed, a poll executes it; a cycle does not block its lane."""
    crashed = [f.seq for f, kind in index.faults_on("lane_event", "pending", ("processing",)) if kind == "crash-before"]
    for command, before, now in polls(index):
        for lane in before.lanes if "event" not in command.args else ():
            pending = [e for e in before.lane(lane) if e.state == "pending"]
            if (
                not index.settled(lane)
                or not pending
                or before.running(lane)
                or any(index.tried(e, command.seq) for e in pending)
            ):
                continue
            born = [index.births[e.id].event.not_before for e in pending]
            if any(time is not None and time > now - SLACK_MS for time in born):
                continue
            cyclic = has_cycle(e.key for e in pending)
            if index.lane_of(command.result.get("event", 0)) == lane:
                waited = any(time is not None for time in born)
                if waited or cyclic:
                    yield Met("cyclic" if cyclic else "crash" if any(at < command.seq for at in crashed) else "passed")
            moved = [e for e in pending if waits(e, now)]
            if _nothing(index, command) and (cyclic or moved):
                why = "on a cycle" if cyclic else f"moved to {index.when(moved[0].not_before)}"
                yield Violation(
                    f"an execution in lane {'/'.join(lane)}, whose window has passed",
                    f"nothing was claimed; row {pending[0].id} is {why}",
                    command.until,
                    "answer",
                )
                return


@CHECKERS.checker("SETTLE-006", "suite", "answer", "rows")
def a_generation_executes_once(index: Index) -> Iterator[Finding]:
    """A burst of one window, acyclic and without failures, leads to one execution."""
    for lane, events in index.last.lanes.items():
        attempts = [a for a in index.attempts if index.lane_of(a.head) == lane]
        if not index.settled(lane) or not attempts:
            continue
        there = index.before(attempts[0].claim.seq).lane(lane)
        burst = [e for e in there if e.state == "pending"]
        ids = {e.id for e in burst}
        times = {index.births[e.id].event.not_before for e in burst}
        mine = [a for a in attempts if a.head in ids]
        # What an earlier claim has collapsed belongs to the order as well.
        cyclic = has_cycle(e.key for e in there if e.state == "pending" or e.collapsed)
        clean = all(_clean(a) for a in mine) and not cyclic
        named = any("event" in a.claim.args for a in mine)
        earlier = any(e.executed and e.id not in ids for e in events)
        if not mine or len(burst) < 2 or len(times) != 1 or named or earlier or not clean:
            continue
        workers = {c.proc for c in index.commands if c.cmd == "lane.claim" and c.seq >= mine[0].claim.seq}
        if len(workers) > 1:
            yield Met("several-workers")
        if {bool(e.ordinal) for e in burst} == {True, False}:
            yield Met("mixed")
        if len(mine) > 1:
            yield Violation(
                f"one execution for the burst of {len(burst)} rows in lane {'/'.join(lane)}",
                f"rows {', '.join(str(a.head) for a in mine)} were executed one by one",
                mine[1].claim.until,
                "answer",
            )


def _clean(attempt: Attempt) -> bool:
    told = attempt.finishes[-1] if attempt.finishes else None
    return told is not None and told.args["outcome"] in ("success", "skip") and told.result.get("status") == "recorded"


# -- attempts --------------------------------------------------------------------------------------------------------


def _in_the_backoff(index: Index, command: Command, before: View, now: int) -> Iterator[Finding]:
    """A poll claims no settled row that waits for its backoff; whether a lost lease is followed by one is open."""
    for event in before.events.values():
        if "event" in command.args or not index.settled(event.lane):
            continue
        last = [a for a in index.of_head.get(event.id, ()) if a.claim.until < command.seq][-1:]
        failed = any(f.args["outcome"] == "retryable" and f.until < command.seq for a in last for f in a.finishes)
        if not failed or not waits(event, now):
            continue
        if nearly_over(event.not_before, now):
            yield Met("nearly-over")
        if command.result.get("event") == event.id:
            yield Violation(
                f"no execution of row {event.id} until {index.when(event.not_before)}, the end of its backoff",
                "it was claimed",
                command.until,
                "answer",
            )


@CHECKERS.checker("SETTLE-004", "suite", "answer", "rows")
def a_retry_waits_for_the_backoff(index: Index) -> Iterator[Finding]:
    """A retry on a settled route follows the ordinary backoff and opens no second window, nor does a lost lease."""
    for attempt in index.attempts:
        for report in attempt.finishes:
            event = index.result_view(report).events.get(attempt.head)
            recorded = report.args["outcome"] == "retryable" and report.result.get("status") == "recorded"
            if not recorded or event is None or event.state != "pending" or not index.settled(event.lane):
                continue
            yield Met("first" if len(index.of_head[attempt.head]) == 1 else "again")
            due = index.now(report.seq) + index.backoff_ms
            for other in still_open(index.before(report.seq), event.lane, index.now(report.until)):
                yield Met("window-ends-later" if other > due else "window-ends-earlier")
            latest = index.now(report.until) + index.backoff_ms + SLACK_MS
            if event.not_before is None or not due <= event.not_before <= latest:
                yield Violation(
                    f"the next attempt of row {event.id} after the backoff, about {index.when(due)}",
                    f"it waits until {index.when(event.not_before)}",
                    report.until,
                    "rows",
                )
    for command, before, now in polls(index):
        yield from _in_the_backoff(index, command, before, now)
    yield from a_backoff_is_not_moved(index)
    yield from a_lost_lease_opens_no_window(index)


def _failures(index: Index) -> Iterator[tuple[Stored, int, bool, int]]:
    """(row at the end, recorded failures, whether its neighbours failed while it was there, last report)."""
    for head, attempts in index.of_head.items():
        event = index.last.events.get(head)
        reports = [f for a in attempts for f in a.finishes if f.result.get("status") == "recorded"]
        if event is None or not reports or index.lost_leases(head) or index.births[head].event.raw["attempts"]:
            continue
        if any(f.args["outcome"] != "retryable" for f in reports):
            continue
        others = any(
            f.args["outcome"] == "retryable" and f.seq > index.births[head].seq
            for a in index.attempts
            if a.head != head and index.lane_of(a.head) == event.lane
            for f in a.finishes
        )
        yield event, len(reports), others, reports[-1].until


def _budget(index: Index, event: Stored, failures: int, seq: int) -> Violation | None:
    spent = event.state == "dead"
    if spent == (failures >= index.budget) and failures <= index.budget:
        return None
    return Violation(
        f"{index.budget} failures of row {event.id} until it is dead",
        f"it is {event.state} after {failures}",
        seq,
        "rows",
    )


def _late(index: Index, event: Stored) -> bool:
    """Whether a row was first claimed when all of its attempts with their backoffs could have been over."""
    waited = index.now(index.of_head[event.id][0].claim.seq) - index.now(index.births[event.id].seq)
    return waited > index.budget * index.backoff_ms


def _unsure(command: Command) -> bool:
    """Whether a claim may have become durable without anybody being told."""
    return command.result.get("status") in ("unknown", "unavailable")


@CHECKERS.checker("SETTLE-032", "suite", "answer", "rows")
def waiting_spends_no_attempt(index: Index) -> Iterator[Finding]:
    """A settled row is dead after exactly as many failures as the budget has, as in any other mode."""
    unsure = any(c.cmd == "lane.claim" and (c.outcome != "done" or _unsure(c)) for c in index.commands)
    for event in index.last.events.values():
        born = index.births[event.id].event
        if event.state == "dead" and born.open and not index.of_head.get(event.id) and not unsure:
            seq = index.ends[event.id][0]
            yield Violation(f"{index.budget} failures of row {event.id} until it is dead", "it had none", seq, "rows")
    for event, failures, others, seq in _failures(index):
        if others:
            continue
        if event.state == "dead":
            yield Met("settled" if index.settled(event.lane) else "existing")
            if index.settled(event.lane) and _late(index, event):
                yield Met("long-wait")
        found = _budget(index, event, failures, seq)
        if found is not None:
            yield found


@CHECKERS.checker("GEN-036", "suite", "answer", "rows")
def neighbours_spend_no_attempt(index: Index) -> Iterator[Finding]:
    """A row that was left out of failing attempts, or collapsed into one, has its full budget."""
    for event, failures, others, seq in _failures(index):
        if not others:
            continue
        if event.state == "dead":
            yield Met("successor")
        found = _budget(index, event, failures, seq)
        if found is not None:
            yield found
