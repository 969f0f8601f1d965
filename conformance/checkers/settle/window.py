"""The settle timestamp of stored rows: who gets one, the same on Event and WorkItem, and which one (SETTLE)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.settle.index import SLACK_MS, Birth, Index, nearly_over
from conformance.checkers.settle.registry import CHECKERS
from conformance.checkers.settle.stored import Lane, Stored, View
from conformance.checkers.timeline import Command, Fault

LATEST = ("full_record", "full_record_preserve")


def path_of(command: Command) -> str:
    """The enqueue path that a delivery took, as far as it was told."""
    return str(command.result.get("path", command.args["path"]))


def settled_births(index: Index) -> Iterator[tuple[Birth, Command]]:
    """The births that deliveries brought to settled routes."""
    for birth in index.delivered():
        if index.settled(birth.event.lane) and birth.command is not None:
            yield birth, birth.command


def _shown(index: Index, event: Stored) -> str:
    return (
        f"row {event.id} waits until {index.when(event.not_before)}, its WorkItem until {index.when(event.run_after)}"
    )


def _equal_and_future(index: Index, birth: Birth, command: Command) -> Violation | None:
    event = birth.event
    waits = event.not_before is not None and event.not_before > index.now(command.seq)
    if waits and event.item is not None and event.run_after == event.not_before:
        return None
    return Violation(
        f"one future time on row {event.id} and on its WorkItem, to full precision",
        _shown(index, event),
        birth.seq,
        "rows",
    )


@CHECKERS.checker("SETTLE-018", "suite", "answer", "rows")
def bulk_stamps_both_alike(index: Index) -> Iterator[Finding]:
    """Rows of the bulk path: NextAttemptAt and RunAfter are one and the same future time."""
    for birth, command in settled_births(index):
        if path_of(command) == "bulk" and command.outcome == "done":
            yield Met("batch" if len(command.args["events"]) > 1 else "one-row")
            found = _equal_and_future(index, birth, command)
            if found is not None:
                yield found


@CHECKERS.checker("SETTLE-019", "suite", "answer", "rows")
def fallback_stamps_both_alike(index: Index) -> Iterator[Finding]:
    """Rows of the fallback path likewise."""
    for birth, command in settled_births(index):
        if path_of(command) == "fallback" and command.outcome == "done":
            yield Met("after-failed-bulk" if bulk_failed(index, command) else "chosen")
            found = _equal_and_future(index, birth, command)
            if found is not None:
                yield found


def bulk_failed(index: Index, command: Command) -> bool:
    """Whether a store fault struck the bulk path of the same delivery, in this command or before it."""
    return any(
        f.action == "fail"
        and f.command is not None
        and f.command.cmd == "lane.deliver"
        and f.command.args["path"] == "bulk"
        and f.command.args["delivery"] == command.args["delivery"]
        and f.seq < command.until
        for f in index.faults
    )


@CHECKERS.checker("SETTLE-020", "suite", "rows")
def no_crash_parts_the_two_times(index: Index) -> Iterator[Finding]:
    """Whatever call of an enqueue the process dies in: no row is durable whose two times differ."""
    for fault, kind in index.faults_on("lane_event", None, ("pending",)):
        if kind != "lost":
            yield Met(kind)
            if _joins(index, fault):
                yield Met(f"joining-{kind}")
    for birth, command in settled_births(index):
        if command.outcome != "no-answer":
            continue
        for look, view in index.views:
            event = view.events.get(birth.event.id)
            if event is None or event.state != "pending" or event.raw["attempts"]:
                continue
            if event.item is None or event.run_after != event.not_before:
                yield Violation("equal times on an Event and its WorkItem", _shown(index, event), look.seq, "rows")
                break


def _joins(index: Index, fault: Fault) -> bool:
    """Whether a fault struck a delivery that brings a source whose window is open on a settled route."""
    if fault.command is None or fault.command.cmd != "lane.deliver":
        return False
    view, now = index.before(fault.command.seq), index.now(fault.seq)
    lanes = {(r["id"], e["source"]) for e in fault.command.args["events"] for r in index.routes_of(e["kind"])}
    return any(index.settled(lane) and still_open(view, lane, now) for lane in lanes)


@CHECKERS.checker("SETTLE-014", "suite", "rows")
def existing_modes_set_no_time_on_events(index: Index) -> Iterator[Finding]:
    """On a route of an existing mode no Event gets a future NextAttemptAt."""
    for birth in index.delivered():
        if index.existing(birth.event.lane):
            yield Met(index.modes[birth.event.lane[0]])
            if still_open(birth.before, birth.event.lane, index.now(birth.seq)):
                yield Met("beside-open")
            if _future(index, birth, birth.event.not_before):
                yield Violation(
                    f"no future time on row {birth.event.id} of an existing mode",
                    _shown(index, birth.event),
                    birth.seq,
                    "rows",
                )


@CHECKERS.checker("SETTLE-015", "suite", "rows")
def existing_modes_set_no_time_on_items(index: Index) -> Iterator[Finding]:
    """Nor does its WorkItem get a future RunAfter, also where the batch holds settled rows."""
    together = {b.command.seq for b, _ in settled_births(index) if b.command is not None}
    for birth in index.delivered():
        if not index.existing(birth.event.lane) or birth.command is None:
            continue
        yield Met("mixed-batch" if birth.command.seq in together else index.modes[birth.event.lane[0]])
        if _future(index, birth, birth.event.run_after):
            yield Violation(
                f"no future RunAfter for row {birth.event.id} of an existing mode",
                _shown(index, birth.event),
                birth.seq,
                "rows",
            )


def _future(index: Index, birth: Birth, time: int | None, slack: int = SLACK_MS) -> bool:
    return time is not None and time > index.now(birth.seq) + slack


@CHECKERS.checker("SETTLE-001", "suite", "rows")
def the_mode_knows_no_provider(index: Index) -> Iterator[Finding]:
    """Rows of every source wait on a settled route; the mode looks at no name."""
    waits: dict[bool, list[Birth]] = defaultdict(list)
    for birth, _ in settled_births(index):
        waits[_future(index, birth, birth.event.not_before)].append(birth)
    if len({b.event.lane[1] for found in waits.values() for b in found}) > 1:
        yield Met("any-source")
    named = {b.event.lane[1] for b in waits[True]}
    for birth in waits[False] if named else ():
        if birth.event.lane[1] not in named:
            yield Violation(
                f"a window for source {birth.event.lane[1]} as for {', '.join(sorted(named))}",
                _shown(index, birth.event),
                birth.seq,
                "rows",
            )


# -- which timestamp ---------------------------------------------------------------------------------------------


def still_open(view: View, lane: Lane, now: int) -> set[int]:
    """The settle timestamps of a lane that are certainly open: pending, never attempted, future."""
    return {
        e.not_before
        for e in view.lane(lane)
        if e.state == "pending" and not e.raw["attempts"] and e.not_before is not None and e.not_before > now + SLACK_MS
    }


def open_stamps(index: Index, birth: Birth) -> set[int]:
    """The settle timestamps of the lane that were open when a row was born."""
    return still_open(birth.before, birth.event.lane, index.now(birth.seq))


def _overlapped(index: Index, birth: Birth, command: Command) -> bool:
    """Whether other rows of the lane were stored while the delivery of a row was under way.

    Of two enqueues that overlap, neither need see what the other stores: "the earliest" speaks of several open
    timestamps.
    """
    return any(
        index.births[e.id].seq > command.seq and e.raw["delivery"] != birth.event.raw["delivery"]
        for e in birth.before.lane(birth.event.lane)
    )


def _left_open(index: Index, birth: Birth) -> bool:
    """Whether the stamp is one of a replay row, or of a row that waits no more: the check leaves these open.

    A time that has passed is open by no reading.
    """
    if not _future(index, birth, birth.event.not_before, slack=0):
        return False
    for event in birth.before.lane(birth.event.lane):
        first = index.births[event.id].event.not_before
        by_replay = index.births[event.id].command
        fresh = by_replay is not None and by_replay.cmd == "lane.replay"
        if first == birth.event.not_before and (fresh or event.state != "pending"):
            return True
    return False


def own_window(index: Index, birth: Birth, command: Command) -> tuple[int, int]:
    """The range in which the end of a window of a row's own lies."""
    length = index.window_ms
    return index.now(command.seq) + length, index.now(birth.seq) + length + SLACK_MS


def _opened(index: Index, birth: Birth, command: Command) -> bool:
    low, high = own_window(index, birth, command)
    return birth.event.not_before is not None and low <= birth.event.not_before <= high


@CHECKERS.checker("SETTLE-024", "suite", "answer", "rows")
def an_open_timestamp_is_taken_over(index: Index) -> Iterator[Finding]:
    """A sibling takes over the timestamp that is still open, on Event and WorkItem, whatever delivery brings it."""
    together: dict[tuple[int, tuple[str, str]], list[Birth]] = defaultdict(list)
    for birth, command in settled_births(index):
        stamps = open_stamps(index, birth)
        if not stamps:
            together[(birth.seq, birth.event.lane)].append(birth)
        if len(stamps) != 1 or _left_open(index, birth) or _overlapped(index, birth, command):
            continue
        yield Met("fallback" if path_of(command) == "fallback" else "other-delivery")
        (stamp,) = stamps
        if nearly_over(stamp, index.now(birth.seq)):
            yield Met("nearly-over")
        yield from (Met(cell) for cell in _opened_elsewhere(index, birth, command, stamp))
        if birth.event.not_before != stamp or birth.event.run_after != stamp:
            yield Violation(
                f"row {birth.event.id} waits until {index.when(stamp)}", _shown(index, birth.event), birth.seq, "rows"
            )
    for births in together.values():
        if len(births) > 1 and len({b.event.raw["delivery"] for b in births}) == 1:
            yield Met("same-delivery")
            if len({b.event.not_before for b in births}) > 1:
                yield Violation("one timestamp for a burst", _shown(index, births[-1].event), births[-1].seq, "rows")


def _opened_elsewhere(index: Index, birth: Birth, command: Command, stamp: int) -> Iterator[str]:
    """Whether what a row takes over was stored by other processes only, or before the last kill of this one."""
    opened = [
        index.births[e.id].command for e in birth.before.lane(birth.event.lane) if e.not_before == stamp
    ]  # fmt: skip
    known = [c for c in opened if c is not None and c.cmd == "lane.deliver"]
    mine = [c.seq for c in known if c.proc == command.proc]
    if known and not mine:
        yield "other-process"
    elif mine and any(max(mine) < at < command.seq and proc == command.proc for at, proc in index.kills):
        yield "restarted"


@CHECKERS.checker("SETTLE-026", "suite", "rows")
def the_earliest_of_several_is_taken(index: Index) -> Iterator[Finding]:
    """Of several open timestamps the earliest is taken over."""
    for birth, command in settled_births(index):
        stamps = open_stamps(index, birth)
        if len(stamps) > 1 and not _overlapped(index, birth, command):
            yield Met("two-open")
            if birth.event.not_before != min(stamps):
                yield Violation(
                    f"row {birth.event.id} waits until {index.when(min(stamps))}",
                    _shown(index, birth.event),
                    birth.seq,
                    "rows",
                )


@CHECKERS.checker("SETTLE-027", "suite", "answer", "rows")
def arrivals_move_nothing(index: Index) -> Iterator[Finding]:
    """No arrival moves the time of a row that waits already, neither of its Event nor of its WorkItem."""
    for command in index.commands:
        if command.cmd != "lane.deliver":
            continue
        before, after = index.before(command.seq), index.result_view(command)
        for lane, events in before.lanes.items():
            if not index.settled(lane):
                continue
            grown = len(after.lane(lane)) > len(events)
            for event in events:
                later = after.events.get(event.id)
                if event.not_before is None or later is None or not (_fresh(event) and _fresh(later)):
                    continue
                if grown:
                    yield Met("sibling-arrives")
                elif event.raw["delivery"] == command.args["delivery"] and event.not_before > index.now(command.until):
                    yield Met("redelivered")
                if _moved(event.not_before, later.not_before) or _moved(event.run_after, later.run_after):
                    yield Violation(
                        f"row {event.id} waits until {index.when(event.not_before)}",
                        _shown(index, later),
                        command.until,
                        "rows",
                    )


def _fresh(event: Stored) -> bool:
    """Whether a row waits for its first attempt."""
    return event.state == "pending" and not event.raw["attempts"]


def _moved(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and after > before


@CHECKERS.checker("SETTLE-028", "suite", "rows")
def a_passed_timestamp_is_not_taken(index: Index) -> Iterator[Finding]:
    """Where no timestamp is open, an arrival opens a window of its own: neither a passed time nor a backoff serves."""
    for birth, command in settled_births(index):
        if open_stamps(index, birth) or _left_open(index, birth):
            continue
        passed = dict.fromkeys(cell for e in birth.before.lane(birth.event.lane) for cell in _passed(index, birth, e))
        yield from (Met(cell) for cell in passed)
        if passed and not _opened(index, birth, command):
            low, _ = own_window(index, birth, command)
            yield Violation(
                f"a fresh window until about {index.when(low)} for row {birth.event.id}",
                _shown(index, birth.event),
                birth.seq,
                "rows",
            )


def _passed(index: Index, birth: Birth, sibling: Stored) -> Iterator[str]:
    """How a sibling shows that the lane has no open timestamp: its own has passed, or what it waits for is none."""
    now = index.now(birth.seq)
    if sibling.not_before is None or now - SLACK_MS < sibling.not_before <= now + SLACK_MS:
        return
    passed = sibling.not_before <= now
    if sibling.state == "processing":
        yield "sibling-running"
    elif sibling.executed and passed:
        yield "sibling-ended"
    elif sibling.state == "pending" and sibling.raw["attempts"]:
        yield "sibling-due-again" if passed else "sibling-in-backoff"
    elif sibling.state == "pending" and not sibling.raw["attempts"] and passed:
        born = index.births[sibling.id].seq
        yield "clock-jump" if any(born < at < birth.seq for at in index.jumps) else "passed"


def _foreign(index: Index, birth: Birth, same: int) -> set[int]:
    """Open timestamps of lanes that share just the route (``same`` 0) or the source (1), outside the own window."""
    command = birth.command
    assert command is not None
    low, high = own_window(index, birth, command)
    found: set[int] = set()
    for lane, events in birth.before.lanes.items():
        if lane[same] == birth.event.lane[same] and lane != birth.event.lane and index.settled(lane):
            found |= {
                e.not_before
                for e in events
                if e.state == "pending" and e.not_before is not None and index.now(birth.seq) < e.not_before
            }
    return {stamp for stamp in found if not low <= stamp <= high}


@CHECKERS.checker("SETTLE-029", "suite", "rows")
def another_source_has_its_own_window(index: Index) -> Iterator[Finding]:
    """The timestamp of another source on the route is not taken over."""
    for birth, _ in settled_births(index):
        stamps = _foreign(index, birth, 0)
        if stamps and not open_stamps(index, birth):
            yield Met("other-source")
            if birth.event.not_before in stamps:
                yield Violation(
                    f"a window of its own for source {birth.event.lane[1]}",
                    _shown(index, birth.event),
                    birth.seq,
                    "rows",
                )


@CHECKERS.checker("SETTLE-030", "suite", "rows")
def another_route_has_its_own_window(index: Index) -> Iterator[Finding]:
    """The timestamp of the same source on another route is not taken over."""
    for birth, _ in settled_births(index):
        stamps = _foreign(index, birth, 1)
        if stamps and not open_stamps(index, birth):
            yield Met("other-route")
            if any(_twins(birth.event, e) for e in index.births.values() if e.event.not_before in stamps):
                yield Met("same-event")
            if birth.event.not_before in stamps:
                yield Violation(
                    f"a window of its own on route {birth.event.lane[0]}", _shown(index, birth.event), birth.seq, "rows"
                )


def _twins(event: Stored, other: Birth) -> bool:
    """Whether two rows are the same Event on two routes."""
    names = ("delivery", "sequence", "source")
    return event.lane != other.event.lane and all(event.raw[n] == other.event.raw[n] for n in names)
