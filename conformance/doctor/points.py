"""What rung L2 adds: every port call is announced, can be stopped at, and stands where it says.

Rows may change only between a `commit` and the next stop, and a connection may appear only after a `remote`: that holds
for any implementation, so nothing of it has to be known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from conformance.doctor.basics import Notes, look
from conformance.doctor.bench import Bench, Seen, Stop, as_text
from conformance.history import Event
from conformance.kit.seam import POINT_CALLS
from conformance.search.process import Point
from conformance.search.program import FREE, SETTLE, SNAPSHOT, Op

_WORLDS: Final = ("committed", "rolled_back")


def announced(bench: Bench) -> Notes:
    """Every port call is announced, the same ones each time, and rows and wire agree with them."""
    notes = Notes()
    first, second = (bench.play(bench.scenario.ops, record=True) for _ in range(2))
    look(first, notes)
    if not first.points:
        notes.bad(
            "no port call was announced though `record` was true: say `point` at every call to store, remote and clock"
        )
        return notes
    one, two = ([(p.proc, p.point, p.nth) for p in seen.points] for seen in (first, second))
    if one != two:
        at = next(
            (i for i, pair in enumerate(zip(one, two, strict=False)) if pair[0] != pair[1]), min(len(one), len(two))
        )
        a, b = (calls[at][1] if at < len(calls) else "nothing" for calls in (one, two))
        notes.bad(
            f"the same script made other port calls the second time ({a!r} became {b!r}, call {at + 1}): no ids or"
            " times in steps, and no calls that depend on real time"
        )
    for name in dict.fromkeys(p.point for p in first.points):
        if name.rpartition(":")[2] not in POINT_CALLS or not name.rpartition(":")[0]:
            notes.bad(f"the point {name!r} is no `<step>:<call>` with a call out of {', '.join(POINT_CALLS)}")
    for where in first.misplaced:
        notes.bad(f"a process said that it stands at {where}: it stands at the call that it has just announced")
    _stops(first, notes)
    return notes


def claimed(bench: Bench) -> Notes:
    """The points that `hello` names are points, and those that a script meets are among them."""
    notes = Notes()
    named = bench.identity.points
    if not named:
        return notes
    met = {p.point for p in bench.play(bench.scenario.ops, record=True).points}
    for name in named:
        if name.rpartition(":")[2] not in POINT_CALLS:
            notes.bad(f"hello offers the point {name!r}, which is no `<step>:<call>`")
    if missing := sorted(met - set(named)):
        notes.remark(f"hello names points but leaves out {', '.join(missing)}")
    if not met & set(named):
        notes.bad(f"none of the points that hello offers was met: {', '.join(named[:5])}")
    elif unmet := sorted(set(named) - met):
        notes.remark(f"points of hello that this script does not meet: {', '.join(unmet)}")
    return notes


def _stops(seen: Seen, notes: Notes) -> None:
    """Rows and connections agree with where the implementation says that it is."""
    end = Stop(
        len(seen.points), "", "the end", 1, _last_rows(seen), len(seen.of("connection")), len(seen.of("response"))
    )
    for a, b in pairwise((*seen.stops, end)):
        between = [p.point.rpartition(":")[2] for p in seen.points[a.index : b.index]]
        if a.rows != b.rows and "commit" not in between and b.rows != "null":
            notes.bad(
                f"rows changed between {a.where} and {b.where} without a `commit` in between: a transaction passes no"
                " port"
            )
    for stop in (*seen.stops, end):
        sent = sum(p.point.endswith(":remote") for p in seen.points[: stop.index])
        allowed = sent - 1 if stop.call == "remote" else sent
        if stop.connections > allowed:
            notes.bad(
                f"at {stop.where} {_connections(stop.connections)} made, but only {allowed} `remote` came before: say"
                " `remote` ahead of each connection, and let no library retry"
            )
        if stop.call == "answered" and stop.answered < allowed:
            notes.bad(f"at {stop.where} the remote has not answered yet: say `answered` once the outcome is known")


def _connections(count: int) -> str:
    return "1 connection was" if count == 1 else f"{count} connections were"


def _last_rows(seen: Seen) -> str:
    return as_text(seen.rows)


def pauses(bench: Bench) -> Notes:
    """At every point where that is allowed, a pause and a hang stop the process until it is resumed."""
    notes = Notes()
    for point in _each(bench):
        for action in ("pause", "hang"):
            if action in POINT_CALLS.get(point.point.rpartition(":")[2], ()):
                _paused(bench, point, action, notes)
    return notes


def _paused(bench: Bench, point: Point, action: str, notes: Notes) -> None:
    seen = bench.play(_armed(bench, point, action, SETTLE, SNAPSHOT, FREE))
    look(seen, notes)
    if not _struck(seen):
        notes.bad(
            f"{action} was armed at {point.point} and never took effect: say `fired`, then `paused`, and stand still"
        )
        return
    stood = next((e for e in seen.of("paused") if e.proc == point.proc), None)
    if stood is None or stood.data["point"] != point.point:
        where = "nowhere" if stood is None else stood.data["point"]
        notes.bad(f"{action} at {point.point} took effect, but the process stood still {where}")
        return
    resumed = next((e for e in seen.of("resumed") if e.proc == point.proc), None)
    meanwhile = _between(seen, stood, resumed)
    if any(e.proc == point.proc and e.cls in ("wire", "answer") for e in meanwhile):
        notes.bad(f"at {point.point} the process said that it stands still, and went on all the same")
    if resumed is None or not any(e.proc == point.proc for e in seen.of("answer") if e.seq > resumed.seq):
        notes.bad(f"after the {action} at {point.point} was resumed, the command never ended")


def _between(seen: Seen, start: Event, end: Event | None) -> tuple[Event, ...]:
    return seen.history.events[start.seq : end.seq if end else None]


def failures(bench: Bench) -> Notes:
    """At every store call a failure can be injected, and the implementation gets to see it."""
    notes = Notes()
    for point in _each(bench):
        if "fail" in POINT_CALLS.get(point.point.rpartition(":")[2], ()):
            seen = bench.play(_armed(bench, point, "fail", SETTLE, FREE))
            _given(seen, point, "fail", notes)
    return notes


def commits(bench: Bench) -> Notes:
    """A commit that fails or loses its acknowledgement leaves the rows as `arm` says."""
    notes = Notes()
    plain = bench.play(bench.scenario.ops, record=True)
    for point in _each(bench):
        if not point.point.endswith(":commit"):
            continue
        around = _around(plain, point)
        if around is None or around[0] == around[1]:
            # Without a change in the plain run nobody can tell the worlds apart.
            continue
        for action, world in (("fail", None), *(("lose-ack", world) for world in _WORLDS)):
            _committed(bench, point, action, world, notes)
    return notes


def _committed(bench: Bench, point: Point, action: str, world: str | None, notes: Notes) -> None:
    what = f"{action} ({world})" if world else action
    seen = bench.play(_armed(bench, point, action, SETTLE, FREE, world=world), record=True)
    if not _given(seen, point, what, notes):
        return
    around = _around(seen, point)
    if around is None:
        return
    changed = around[0] != around[1]
    if changed and world != "committed":
        notes.bad(f"{what} at {point.point}: the rows changed, but the store has done nothing in this world")
    elif not changed and world == "committed":
        notes.bad(f"{what} at {point.point}: the rows did not change, but in this world the commit has happened")


def _given(seen: Seen, point: Point, what: str, notes: Notes) -> bool:
    """Whether an armed failure took effect and was left to the implementation."""
    if not _struck(seen):
        notes.bad(f"{what} was armed at {point.point} and never took effect: say `fired`, and do it")
        return False
    if any(answer["outcome"] == "failed" for _, _, answer in seen.undone):
        notes.bad(
            f"{what} at {point.point} ended the command as `failed`: hand the error to the implementation, and bring"
            " back what it says"
        )
        return False
    look(seen, notes)
    return True


def _around(seen: Seen, point: Point) -> tuple[str, str] | None:
    """The rows at the stop ahead of a call and at the first one behind it."""
    at = next((i for i, p in enumerate(seen.points, 1) if (p.proc, p.point, p.nth) == _name(point)), None)
    if at is None:
        return None
    before = [s.rows for s in seen.stops if s.index < at]
    behind = [s.rows for s in seen.stops if s.index >= at]
    return (before[-1], behind[0] if behind else _last_rows(seen)) if before else None


def _name(point: Point) -> tuple[str, str, int]:
    return point.proc, point.point, point.nth


def _each(bench: Bench) -> Iterator[Point]:
    """The first call of every point name of every process of the script."""
    recorded = bench.play(bench.scenario.ops, record=True).points
    met: Counter[tuple[str, str]] = Counter()
    for point in recorded:
        met[point.proc, point.point] += 1
        if met[point.proc, point.point] == 1:
            yield point


def _armed(bench: Bench, point: Point, action: str, *tail: Op, world: str | None = None) -> tuple[Op, ...]:
    """The script with an action armed right after the start of the process."""
    ops = list(bench.scenario.ops)
    start = next(i for i, op in enumerate(ops) if op.op == "start" and op.proc == point.proc)
    members: dict[str, Any] = {"proc": point.proc, "point": point.point, "nth": 1, "action": action}
    ops.insert(start + 1, Op("arm", {**members, "world": world} if world else members))
    return (*ops, *tail)


def _struck(seen: Seen) -> bool:
    return not seen.of("missed") and bool(seen.of("fault"))
