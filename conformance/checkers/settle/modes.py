"""Invocation modes and metrics: normalization, coalescing of the existing modes, due counts (SETTLE)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.settle.index import SLACK_MS, Attempt, Index, alone, nearly_over
from conformance.checkers.settle.registry import CHECKERS
from conformance.checkers.settle.stored import Stored, View
from conformance.checkers.timeline import Command
from statemachines.lanes import has_cycle, precedes


@CHECKERS.checker("SETTLE-008", "suite", "rows")
def existing_modes_coalesce_at_the_claim(index: Index) -> Iterator[Finding]:
    """In the baseline mode rows stay pending until a worker claims."""
    first = min((c.seq for c in index.commands if c.cmd == "lane.claim"), default=1 << 60)
    for lane, events in index.before(first).lanes.items():
        if index.modes.get(lane[0]) != "full_record_preserve" or len(events) < 2:
            continue
        if any(e.id in index.loaded for e in events):
            continue
        yield Met("two-pending")
        early = [e for e in events if e.state != "pending"]
        if early:
            yield Violation(f"row {early[0].id} pending until a claim", f"it is {early[0].state}", first, "rows")


@CHECKERS.checker("SETTLE-009", "suite", "answer", "rows")
def a_late_arrival_executes_again(index: Index) -> Iterator[Finding]:
    """In the baseline mode an Event that arrives while a Flow runs is not folded into it."""
    for attempt in index.attempts:
        lane = index.lane_of(attempt.head)
        if lane is None or index.modes.get(lane[0]) != "full_record_preserve" or not attempt.finishes:
            continue
        report = attempt.finishes[-1]
        for birth in index.births.values():
            if birth.event.lane == lane and attempt.claim.until < birth.seq < report.seq:
                yield Met("arrives-while-running")
                event = index.result_view(report).events.get(birth.event.id)
                if event is not None and event.state != "pending":
                    yield Violation(
                        f"row {event.id} pending, for an execution after that of row {attempt.head}",
                        f"it is {event.state}",
                        report.until,
                        "rows",
                    )


@CHECKERS.checker("SETTLE-037", "suite", "answer", "rows")
def existing_coalescing_is_unchanged(index: Index) -> Iterator[Finding]:
    """Next to the new mode the existing ones execute and collapse as before."""
    for attempt in index.attempts:
        lane = index.lane_of(attempt.head)
        before = index.before(attempt.claim.seq)
        pending = [e for e in before.lane(lane) if e.state == "pending"] if lane else []
        mode = index.modes.get(lane[0]) if lane else None
        if mode in (None, "settled") or len(pending) < 2 or attempt.input is None or has_cycle(e.key for e in pending):
            continue
        yield Met(str(mode))
        head = next((e for e in pending if e.id == attempt.head), None)
        for event in pending if mode != "each" else ():
            if head is not None and precedes(event.key, head.key) and index.tried(event, attempt.claim.seq):
                yield Met("lease-lost" if index.lease_lost(event.id, attempt.claim.seq) else f"{mode}-failed")
        found = _other_than_before(index, attempt, str(mode), pending)
        if found is not None:
            yield found


def _other_than_before(index: Index, attempt: Attempt, mode: str, pending: list[Stored]) -> Violation | None:
    head = next((e for e in pending if e.id == attempt.head), None)
    if head is None:
        return None
    earlier = {e.id for e in pending if precedes(e.key, head.key)}
    now = index.now(attempt.claim.until)
    # Where nothing is collapsed, a row that stands ahead is executed first, unless it waits for its backoff.
    ahead = {e.id for e in pending if e.id in earlier and (e.not_before or 0) <= now - SLACK_MS}
    if mode == "each" and ahead and "event" not in attempt.claim.args:
        return Violation(
            f"row {_list(ahead)} ahead of row {head.id} in mode each, as before",
            f"row {head.id} was claimed",
            attempt.claim.until,
            "answer",
        )
    taken = set(attempt.input or ()) - {head.id}
    after = index.result_view(attempt.claim)
    skipped = {e.id for e in map(after.events.get, earlier) if e is not None and e.state == "skipped"}
    wanted = set() if mode != "full_record_preserve" else earlier
    collapsed = set() if mode == "each" else earlier
    if taken == wanted and skipped == collapsed:
        return None
    return Violation(
        f"row {head.id} executed with {_list(wanted)} and {_list(collapsed)} collapsed, as in mode {mode} before",
        f"it took {_list(taken)} and collapsed {_list(skipped)}",
        attempt.reads[-1].until,
        "answer",
    )


def _list(ids: set[int]) -> str:
    return ", ".join(map(str, sorted(ids))) or "no other row"


def rows_of_deliveries_come_together(index: Index) -> Iterator[Finding]:
    """GEN-026 on preserving routes of existing modes: rows of several deliveries that wait come in one invocation.

    Asked is the plain case: delivered rows of a lane without a cycle, none of them tried, behind all that has ended.
    """
    for attempt in index.attempts:
        lane = index.lane_of(attempt.head)
        if lane is None or index.settled(lane) or not index.preserving(lane) or attempt.input is None:
            continue
        rows = index.before(attempt.claim.seq).lane(lane)
        head = next((e for e in rows if e.id == attempt.head), None)
        waiting = [e for e in rows if e.state == "pending" and e.id not in index.loaded and e.not_before is None]
        if (
            head not in waiting
            or has_cycle(e.key for e in rows)
            or any(index.tried(e, attempt.claim.seq) for e in waiting)
        ):
            continue
        ended = [e for e in rows if e.executed]
        wanted = [
            e
            for e in waiting
            if e is head or (precedes(e.key, head.key) and all(precedes(b.key, e.key) for b in ended))
        ]
        if len({e.raw["delivery"] for e in wanted}) < 2:
            continue
        yield Met("without-window")
        missing = [e.id for e in wanted if e.id not in attempt.input]
        if missing:
            taken = ", ".join(map(str, attempt.input)) or "empty"
            yield Violation(
                f"row {missing[0]} in the input of head {head.id}, which came in another delivery",
                f"the input was {taken}",
                attempt.reads[-1].until,
                "answer",
            )


# -- normalization ---------------------------------------------------------------------------------------------------


def _normalized(index: Index) -> Iterator[tuple[Command, str, bool, bool]]:
    """(command, mode, filter, whether it was accepted as what it is)."""
    for command in index.commands:
        if command.cmd == "lane.normalize" and command.outcome == "done":
            mode = str(command.args["mode"])
            accepted = command.result.get("status") == "accepted" and command.result.get("mode") == mode
            yield command, mode, bool(command.args["filter"]), accepted


def _said(command: Command) -> str:
    mode = command.result.get("mode")
    return f"{command.result.get('status')}{f' as {mode}' if mode else ''}"


@CHECKERS.checker("SETTLE-034", "suite", "answer")
def the_mode_is_accepted(index: Index) -> Iterator[Finding]:
    """Normalization accepts the settled mode as what it is."""
    for command, mode, has_filter, accepted in _normalized(index):
        if mode == "settled" and not has_filter:
            yield Met("accepted")
            if not accepted:
                yield Violation("the settled mode accepted as itself", _said(command), command.until, "answer")


@CHECKERS.checker("SETTLE-035", "suite", "answer")
def the_mode_takes_no_filter(index: Index) -> Iterator[Finding]:
    """Normalization refuses the settled mode with a Flow execution filter."""
    for command, mode, has_filter, _ in _normalized(index):
        if mode == "settled" and has_filter:
            yield Met("refused")
            if command.result.get("status") != "refused":
                yield Violation("the settled mode refused with a filter", _said(command), command.until, "answer")


@CHECKERS.checker("SETTLE-036", "suite", "answer")
def existing_modes_normalize_as_before(index: Index) -> Iterator[Finding]:
    """Existing modes, with and without a filter, are accepted or refused as they were."""
    for command, mode, has_filter, accepted in _normalized(index):
        if mode == "settled":
            continue
        yield Met(f"{mode}-{'filter' if has_filter else 'plain'}")
        refuses = has_filter and mode in ("full_record", "full_record_preserve")
        right = command.result.get("status") == "refused" if refuses else accepted
        if not right:
            yield Violation(
                f"mode {mode} {'refused with' if refuses else 'accepted with or without'} a filter",
                _said(command),
                command.until,
                "answer",
            )


# -- metrics ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Count:
    """A due count, and the rows that it was made from by what must be said of them.

    Rows in execution are left open, a count may hold them or not: ``told`` is what is told of all others at least.
    """

    command: Command
    view: View
    told: int
    now: int
    #: Pending, and certainly due.
    due: list[Stored]
    #: Pending, and certainly not due.
    waiting: list[Stored]
    #: Pending, at the edge of their time.
    unsure: list[Stored]
    #: Collapsed, or ended.
    over: list[Stored]

    def beyond(self, *others: list[Stored]) -> bool:
        """Whether more is told than the due rows and these others can explain."""
        return self.told > len(self.due) + len(self.unsure) + sum(map(len, others))


def _counted(index: Index) -> Iterator[Count]:
    """Every due count that was read undisturbed."""
    for command in index.commands:
        if command.cmd != "lane.metrics" or command.result.get("status") != "read" or not alone(index, command):
            continue
        view, now = index.before(command.seq), index.now(command.seq)
        running = sum(e.state == "processing" for e in view.events.values())
        made = Count(command, view, int(command.result["due"]) - running, now, [], [], [], [])
        for event in view.events.values():
            if event.state == "pending":
                late = 0 if event.run_after is None else event.run_after - now
                (made.due if late <= 0 else made.waiting if late > SLACK_MS else made.unsure).append(event)
            elif not event.open:
                made.over.append(event)
        yield made


def _too_many(count: Count, what: str) -> Violation:
    allowed = f"at most {len(count.due) + len(count.unsure)} due, {what}"
    return Violation(allowed, f"{count.command.result['due']} were counted", count.command.until, "answer")


@CHECKERS.checker("SETTLE-016", "suite", "answer", "rows")
def waiting_rows_are_not_due(index: Index) -> Iterator[Finding]:
    """Due metrics leave a settled row out until its settle time."""
    for count in _counted(index):
        if any(index.settled(e.lane) for e in count.waiting):
            yield Met("window-open")
            if any(nearly_over(e.run_after, count.now) for e in count.waiting):
                yield Met("nearly-over")
            if count.beyond(count.over):
                yield _too_many(count, "since the window of the others is open")


@CHECKERS.checker("SETTLE-017", "suite", "answer", "rows")
def due_rows_are_counted(index: Index) -> Iterator[Finding]:
    """From its settle time on a pending settled row is counted, whatever its lane does meanwhile."""
    for count in _counted(index):
        command = count.command
        settled = [e for e in count.due if index.settled(e.lane) and e.run_after is not None]
        if settled:
            yield Met("clock-jump" if any(at < command.seq for at in index.jumps) else "passed")
        if any(count.view.running(e.lane) for e in settled):
            yield Met("lane-busy")
        if settled and int(command.result["due"]) < len(count.due):
            yield Violation(
                f"at least {len(count.due)} due", f"{command.result['due']} counted", command.until, "answer"
            )


@CHECKERS.checker("SETTLE-038", "suite", "answer", "rows")
def collapsed_and_ended_rows_are_not_due(index: Index) -> Iterator[Finding]:
    """A row that has been collapsed or has ended is not counted, though its settle time has passed."""
    for count in _counted(index):
        passed = [e for e in count.over if e.run_after is not None and e.run_after <= count.now]
        if passed:
            running = any(e.state == "processing" for e in count.view.events.values())
            yield Met("head-claimed" if running else "head-ended")
        if any(e.collapsed and _tried_before(index, count, e) for e in passed):
            yield Met("head-waits-again")
        if passed and count.beyond(count.waiting):
            yield _too_many(count, "since the others were collapsed or have ended")


def _tried_before(index: Index, count: Count, collapsed: Stored) -> bool:
    """Whether a row of the lane of a collapsed one waits for a further attempt."""
    rows = count.view.lane(collapsed.lane)
    return any(e.state == "pending" and index.tried(e, count.command.seq) for e in rows)
