"""Stored facts: no row goes, Event and WorkItem agree, ended rows stay ended, keys are frozen, ordinals rise."""

from __future__ import annotations

from collections.abc import Container, Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.settle.deliveries import deliveries, not_stored
from conformance.checkers.settle.index import Index, alone
from conformance.checkers.settle.registry import CHECKERS
from conformance.checkers.settle.stored import Lane, Stored
from conformance.checkers.settle.window import bulk_failed, path_of
from conformance.checkers.timeline import Command
from statemachines.lanes import ordinal_key, precedes

ENDED = ("processed", "dead", "skipped")


@CHECKERS.checker("SETTLE-005", "suite", "rows")
def nothing_is_removed(index: Index) -> Iterator[Finding]:
    """Each Event and its WorkItem are stored and stay, also when a burst has been collapsed and executed."""
    yield from _merged(index)
    for _, kind in index.faults_on("lane_event", "pending", ("skipped",)):
        if kind == "crash-after":
            yield Met("crash-after-commit")
    seen: dict[int, bool] = {}
    for look, view in index.views:
        if any(e.collapsed for e in view.events.values()) and any(e.state == "processed" for e in view.events.values()):
            yield Met("burst-executed")
        for id_, had_item in seen.items():
            event = view.events.get(id_)
            if event is None or (had_item and event.item is None):
                what = "row" if event is None else "WorkItem of row"
                yield Violation(f"{what} {id_} stays", "it is gone", look.seq, "rows")
                return
        seen.update({id_: event.item is not None for id_, event in view.events.items()})


def _merged(index: Index) -> Iterator[Finding]:
    """No Event is left out at its enqueue because others of its lane wait, or come with it."""
    for command, times in deliveries(index):
        if times:
            continue
        lanes = [(r["id"], e["source"]) for e in command.args["events"] for r in index.routes_of(e["kind"])]
        view = index.before(command.seq)
        if any(index.settled(lane) and any(e.state == "pending" for e in view.lane(lane)) for lane in lanes):
            yield Met("enqueued-beside-others")
        for sequence, route in not_stored(index, command):
            yield Violation(
                f"a row on route {route} for number {sequence} of delivery {command.args['delivery']}",
                "there is none, and the sender was told that there is",
                command.until,
                "rows",
            )


# -- pairs -----------------------------------------------------------------------------------------------------------


def _reaping(index: Index) -> Iterator[Command]:
    """The commands that take lapsed claims back."""
    return (c for c in index.commands if c.cmd in ("recover", "lane.claim") and c.outcome == "done")


@CHECKERS.checker("SETTLE-043", "suite", "answer", "rows")
def event_and_item_agree(index: Index) -> Iterator[Finding]:
    """After any fault of claim, collapse or end: Event and WorkItem are open alike, or ended alike."""
    for source, dests, name in (("pending", ("processing",), "claim"), ("processing", ENDED, "end")):
        for _, kind in index.faults_on("lane_event", source, dests):
            yield Met(f"{name}-{kind}")
    for attempts in index.of_head.values():
        lost = [a.claim.until for a in attempts if a.recorded is None][index.budget - 1 :]
        if lost and any(c.seq > lost[0] for c in _reaping(index)):
            yield Met("leases-lost")
    # A repair by recovery is as good as one commit, as long as nobody can claim before it.
    looks = [index.look_before(a.claim.seq) for a in index.attempts] + index.looks[-1:]
    for look in looks:
        for event in index.view(look).events.values():
            if look is not None and (event.item is None or event.item["state"] != event.state):
                stands = "missing" if event.item is None else event.item["state"]
                yield Violation(
                    f"the WorkItem of row {event.id} {event.state} like its Event", f"it is {stands}", look.seq, "rows"
                )
                return


@CHECKERS.checker("SETTLE-042", "suite", "rows")
def an_ended_row_stays_ended(index: Index) -> Iterator[Finding]:
    """What ended its generation is not reopened by recovery, redelivery, a poll or a replay; a skip keeps its token."""
    tempted = [c.seq for c in index.commands if c.cmd in ("recover", "lane.claim")]
    leases = [seq for seq, _, _ in index.times]
    known: dict[int, Stored] = {}
    for look, view in index.views:
        for id_, was in known.items():
            event = view.events.get(id_)
            if event is not None and _reopened(was, event):
                yield Violation(
                    f"row {id_} stays {was.state} after {was.raw['attempts']} attempts",
                    f"it is {event.state} after {event.raw['attempts']}, its token {event.token or 'gone'}",
                    look.seq,
                    "rows",
                )
                return
        known.update({id_: e for id_, e in view.events.items() if e.executed and id_ not in known})
    for command in (c for c in index.commands if c.cmd == "lane.deliver" and c.outcome == "done"):
        for row in index.before(command.seq).events.values():
            if row.executed and row.raw["delivery"] == command.args["delivery"]:
                yield Met(f"{'executed-skip' if row.state == 'skipped' else row.state}-sent-again")
    for id_, (seq, state) in index.ends.items():
        passed = next((at for at in leases if at > seq), None)
        attempt = index.consumer(id_)
        # A row that lost its last lease is dead as well, by one reading of the budget.
        unreported = state == "dead" and attempt is not None and attempt.recorded is None
        if passed is not None and any(at > passed for at in tempted) and not unreported:
            yield Met("executed-skip" if state == "skipped" else state)
        if index.last.events.get(id_) is not None and index.last.events[id_].raw["replayed_by"] is not None:
            yield from (Met(f"{state}-replayed"),) if state != "skipped" else ()


def _reopened(was: Stored, event: Stored) -> bool:
    if was.state == "skipped" and was.token != event.token:
        return True
    return event.state != was.state or event.raw["attempts"] != was.raw["attempts"]


@CHECKERS.checker("SETTLE-033", "suite", "answer", "rows")
def a_replay_adds_a_row(index: Index) -> Iterator[Finding]:
    """A replay adds one fresh pending row with its WorkItem; the original stays where it is.

    A settled route refuses none that a route of an existing mode grants in the same situation.
    """
    yield from _refused_by_settling(index)
    for command in index.commands:
        if command.cmd != "lane.replay" or command.result.get("status") != "replayed":
            continue
        original = index.before(command.seq).events.get(command.args["event"])
        after = index.result_view(command)
        if original is None:
            continue
        if original.state != "skipped":
            yield Met(f"{original.state}-{'settled' if index.settled(original.lane) else 'existing'}")
        fresh = after.events.get(command.result.get("event", 0))
        same = after.events.get(original.id)
        if fresh is None or fresh.id == original.id or not _is_fresh(original, fresh):
            happened = "there is none" if fresh is None else f"row {fresh.id} is {fresh.state} on {fresh.lane}"
            yield Violation(
                f"a fresh pending row for row {original.id} with its payload", happened, command.until, "rows"
            )
        elif same is None or same.state != original.state:
            stands = "gone" if same is None else same.state
            yield Violation(f"row {original.id} stays {original.state}", f"it is {stands}", command.until, "rows")


def _replays(index: Index) -> Iterator[tuple[Command, Stored, tuple[str, bool, bool]]]:
    """(replay, original, situation) of ended rows that were not replayed yet; the choice about skips is left out."""
    for command in index.commands:
        if command.cmd != "lane.replay" or command.outcome != "done" or not alone(index, command):
            continue
        before = index.before(command.seq)
        row = before.events.get(command.args["event"])
        if row is not None and row.state in ("processed", "dead") and row.raw["replayed_by"] is None:
            waiting = any(e.state == "pending" for e in before.lane(row.lane))
            yield command, row, (row.state, waiting, bool(before.running(row.lane)))


def _refused_by_settling(index: Index) -> Iterator[Finding]:
    asked = list(_replays(index))
    granted = {
        situation
        for command, row, situation in asked
        if command.result.get("status") == "replayed" and not index.settled(row.lane)
    }
    for command, row, situation in asked:
        if not index.settled(row.lane) or situation not in granted:
            continue
        if situation[1]:
            yield Met(f"{row.state}-beside-a-burst")
        if command.result.get("status") == "refused":
            yield Violation(
                f"a fresh row for row {row.id}, {row.state} on a settled route, as on any other",
                "the replay was refused",
                command.until,
                "answer",
            )


def _is_fresh(original: Stored, fresh: Stored) -> bool:
    alike = fresh.lane == original.lane and fresh.raw["payload"] == original.raw["payload"]
    times = fresh.item is not None and fresh.run_after == fresh.not_before
    return alike and times and fresh.state == "pending"


# -- keys ------------------------------------------------------------------------------------------------------------


@CHECKERS.checker("ORDER-020", "suite", "rows")
def ingress_keys_are_frozen(index: Index) -> Iterator[Finding]:
    """CreatedDate and DeliverySequence of a stored row never change, whatever happens to it."""
    yield from _frozen(index, ("created_at", "sequence"))


@CHECKERS.checker("ORDER-025", "suite", "rows")
def ordinals_are_frozen(index: Index) -> Iterator[Finding]:
    """EnqueueOrdinal of a stored row never changes; a zero row stays one."""
    yield from _frozen(index, ("ordinal",))
    zeros = {id_ for id_, birth in index.births.items() if birth.event.ordinal == 0 and id_ in index.loaded}
    if any(index.last.events[id_].state in ENDED for id_ in zeros & index.last.events.keys()):
        yield Met("zero-row")
    lived = set(_lived(index, zeros))
    yield from (Met(f"zero-row-{what}") for what in ("retried", "taken-back", "replayed") if what in lived)


def _frozen(index: Index, names: tuple[str, ...]) -> Iterator[Finding]:
    for look, view in index.views:
        for id_, event in view.events.items():
            born = index.births[id_].event
            changed = [n for n in names if event.raw[n] != born.raw[n]]
            # A row that an older version stored may be stamped by its own start-up code only; that is SCOPE-010.
            if changed and not _at_start(index, look.seq):
                name = changed[0]
                yield Violation(
                    f"{name} of row {id_} stays {born.raw[name]}", f"it is {event.raw[name]}", look.seq, "rows"
                )
                return
    yield from (Met(cell) for cell in _lived(index, index.births.keys()))


def _lived(index: Index, ids: Container[int]) -> Iterator[str]:
    """What has happened to these rows by the end."""
    for attempt in index.attempts:
        told = [f.args["outcome"] for f in attempt.finishes if f.result.get("status") == "recorded"]
        if attempt.head in ids and "retryable" in told:
            yield "retried"
    for event in (e for id_, e in index.last.events.items() if id_ in ids):
        if event.collapsed:
            yield "collapsed"
        if event.executed:
            yield "ended"
        if event.raw["replayed_by"] is not None:
            yield "replayed"
    for id_, attempts in index.of_head.items():
        if id_ in ids and len(attempts) > 1 and any(not a.finishes for a in attempts[:-1]) and id_ in index.last.events:
            yield "taken-back"


def _at_start(index: Index, seq: int) -> bool:
    """Whether the last thing before a look was the start of a process."""
    last = max((at for at, _ in index.starts if at < seq), default=-1)
    return last > max((c.seq for c in index.commands if c.seq < seq), default=-1)


@CHECKERS.checker("SCOPE-010", "suite", "answer", "rows")
def older_rows_are_not_rewritten(index: Index) -> Iterator[Finding]:
    """Nothing migrates rows: before a claim or a replay touches its lane, an older row stays as it was stored.

    What a claim may do with the rows that it takes in is left open; a start, a recovery and a claim in another lane may
    do nothing with them.
    """
    for id_ in sorted(index.loaded & index.births.keys()):
        birth = index.births[id_]
        touched = min(_touching(index, birth.event.lane, birth.seq), default=1 << 60)
        if any(birth.seq < at < touched for at, _ in index.starts):
            yield Met("zero-row" if birth.event.ordinal == 0 else "stamped-row")
        if any(birth.seq < a.claim.seq and a.claim.until < touched for a in index.attempts):
            yield Met("other-lane-claimed")
        for look, view in index.views:
            event = view.events.get(id_)
            if birth.seq < look.seq < touched and event is not None and event.raw != birth.event.raw:
                names = [n for n in event.raw if event.raw[n] != birth.event.raw[n]]
                yield Violation(f"row {id_} as an older version stored it", f"{names[0]} was changed", look.seq, "rows")
                return


def _touching(index: Index, lane: Lane, seq: int) -> Iterator[int]:
    """Commands that may rightly change rows of a lane: after a row was born, or still under way then."""
    acts = ("lane.claim", "lane.input", "lane.finish", "lane.replay", "recover")
    first = min((c.seq for c in index.commands if _reaches(index, c, lane)), default=1 << 60)
    for command in index.commands:
        if command.cmd in acts and command.until > max(seq, first):
            yield max(command.seq, seq, first)


def _reaches(index: Index, command: Command, lane: Lane) -> bool:
    """Whether a command is a claim or a replay in this lane, as far as it was told."""
    if command.cmd == "lane.replay":
        return index.lane_of(command.args["event"]) == lane
    if command.cmd != "lane.claim" or command.result.get("status") == "nothing":
        return False
    return command.result.get("status") != "claimed" or index.lane_of(command.result["event"]) == lane


# -- ordinals --------------------------------------------------------------------------------------------------------


def _handed_in(index: Index) -> Iterator[tuple[Command, Lane, list[Stored], Stored | None]]:
    """(delivery, lane, its new rows by DeliverySequence, the last row delivered to the lane before)."""
    for command in index.commands:
        if command.cmd != "lane.deliver" or command.outcome != "done":
            continue
        mine: dict[Lane, list[Stored]] = {}
        for birth in index.births.values():
            if birth.command is command:
                mine.setdefault(birth.event.lane, []).append(birth.event)
        for lane, rows in mine.items():
            rows.sort(key=lambda e: e.raw["sequence"])
            before = [e for e in index.before(command.seq).lane(lane) if _told_before(index, e, command)]
            before.sort(key=lambda e: (index.births[e.id].seq, e.raw["sequence"]))
            yield command, lane, rows, before[-1] if before else None


def _told_before(index: Index, event: Stored, command: Command) -> bool:
    """Whether a delivery brought a row that was over before another began: those that overlap are not compared."""
    earlier = index.births[event.id].command
    delivered = earlier is not None and earlier.cmd == "lane.deliver" and event.id not in index.loaded
    return delivered and earlier is not None and earlier.until < command.seq


def _since(index: Index, command: Command, before: Stored | None) -> Iterator[str]:
    """What happened between the last row of a lane and a delivery that brings the next one."""
    earlier = index.births[before.id].command if before is not None else None
    if earlier is None:
        return
    mine = [
        c.seq for c in index.commands if c.cmd == "lane.deliver" and c.proc == command.proc and c.until < earlier.seq
    ]
    if earlier.proc != command.proc and mine:
        yield "in-turns"
    if any(earlier.seq < at < command.seq and proc == command.proc == earlier.proc for at, proc in index.kills):
        yield "restarted"
    if index.now(command.seq) < index.now(earlier.seq):
        yield "clock-back"


def _rising(rows: list[Stored]) -> Stored | None:
    """The first row that does not rise above the one before it, or has no ordinal."""
    for before, event in zip([None, *rows], rows, strict=False):
        if event.ordinal == 0 or (before is not None and not ordinal_key(before.key) < ordinal_key(event.key)):
            return event
    return None


def _not_rising(event: Stored, seq: int) -> Violation:
    return Violation(
        f"row {event.id} above every row handed in before it", f"its ordinal is {event.ordinal}", seq, "rows"
    )


@CHECKERS.checker("ORDER-026", "suite", "answer", "rows")
def bulk_ordinals_rise(index: Index) -> Iterator[Finding]:
    """Rows of the bulk path have positive ordinals that rise in the order in which they were handed in."""
    for command, _, rows, before in _handed_in(index):
        earlier = index.births[before.id].command if before is not None else None
        if path_of(command) != "bulk" or (earlier is not None and path_of(earlier) != "bulk"):
            continue
        if len(rows) > 1:
            yield Met("batch")
        if before is not None:
            yield Met("next-batch")
            yield from (Met(cell) for cell in _since(index, command, before))
        wrong = _rising([*([before] if before is not None else []), *rows])
        if wrong is not None:
            yield _not_rising(wrong, command.until)


@CHECKERS.checker("ORDER-027", "suite", "answer", "rows")
def both_paths_share_one_series(index: Index) -> Iterator[Finding]:
    """Rows of the fallback path take their ordinals from the same rising series."""
    for command, _, rows, before in _handed_in(index):
        earlier = index.births[before.id].command if before is not None else None
        paths = (path_of(earlier) if earlier is not None else "", path_of(command))
        if "fallback" not in paths:
            continue
        if paths == ("bulk", "fallback"):
            yield Met("after-failed-bulk" if bulk_failed(index, command) else "fallback-after-bulk")
        elif paths == ("fallback", "bulk"):
            yield Met("bulk-after-fallback")
        yield from (Met(cell) for cell in _since(index, command, before))
        wrong = _rising([*([before] if before is not None else []), *rows])
        if wrong is not None:
            yield _not_rising(wrong, command.until)


def follows(a: Stored, b: Stored) -> bool:
    """Whether b comes after a by the guard."""
    return precedes(a.key, b.key)
