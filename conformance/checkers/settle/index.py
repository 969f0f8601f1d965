"""What a settle-lanes history says: births of rows, attempts with their inputs and outcomes, what was consumed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

from conformance.checkers.settle.stored import Lane, Stored, View, Views
from conformance.checkers.timeline import END, Command, Fault, Look, Timeline
from conformance.history import History

#: What the ticks of a process's clock may add to the time that it was told.
SLACK_MS: Final = 500
#: What is left of a window, a backoff or a lease that is said to be nearly over.
NEARLY_MS: Final = 2_000
#: The states of an ended head by the outcome that was reported.
ENDS: Final[Mapping[str, str]] = {"success": "processed", "skip": "skipped", "fatal": "dead", "retryable": "dead"}


@dataclass(frozen=True, slots=True)
class Birth:
    """The first look that shows a row; ``command`` stored it, as far as one can tell; ``before`` stood there."""

    event: Stored
    seq: int
    command: Command | None
    before: View


@dataclass(slots=True)
class Attempt:
    """One execution: a claim that was told, the inputs that were read under it, the outcomes that were reported."""

    number: int
    proc: str
    claim: Command
    head: int
    reads: list[Command] = field(default_factory=list)
    finishes: list[Command] = field(default_factory=list)

    @property
    def input(self) -> list[int] | None:
        """The Ids of the last input that was read, in order."""
        return ids_of(self.reads[-1]) if self.reads else None

    @property
    def recorded(self) -> Command | None:
        """The report that was recorded, or may have been."""
        told = (f for f in self.finishes if f.result.get("status") in ("recorded", "unknown") or f.outcome != "done")
        return next(told, None)


def nearly_over(time: int | None, now: int) -> bool:
    """Whether a time is certainly to come, and soon: what ends too early by any margin shows there."""
    return time is not None and SLACK_MS < time - now <= NEARLY_MS


def ids_of(read: Command) -> list[int]:
    """The Ids of an input."""
    return [row["event"] for row in read.result.get("rows", ())]


class Index(Timeline):
    """The timeline with the meaning of settle lanes."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._views = Views()
        first = next((e for e in history.events if (e.cls, e.kind) == ("suite", "config")), None)
        clock = first.data["clock"] if first is not None else {"wall_ms": 0, "mono_ms": 0}
        self._start_ms = int(clock["wall_ms"])
        #: Where the wall clock went another way than elapsed time, or lost its trust.
        self.jumps: list[int] = []
        #: (event, elapsed time, whether the wall clock is trusted) whenever time was told.
        self._clocks: list[tuple[int, int, bool]] = [(-1, int(clock["mono_ms"]), bool(clock.get("trusted", True)))]
        for event in history.events:
            if (event.cls, event.kind) == ("suite", "time"):
                went = {name: event.data[name] - clock[name] for name in ("wall_ms", "mono_ms")}
                if went["wall_ms"] != went["mono_ms"] or not event.data["trusted"]:
                    self.jumps.append(event.seq)
                clock = event.data
                self._clocks.append((event.seq, int(clock["mono_ms"]), bool(clock["trusted"])))
        self.starts = [(e.seq, e.proc) for e in history.events if (e.cls, e.kind) == ("suite", "start")]

    # -- time and configuration --------------------------------------------------------------------------------

    def now(self, seq: int) -> int:
        """The wall time that processes had been told before an event, without the ticks of their clocks."""
        return next((wall for at, wall, _ in reversed(self.times) if at < seq), self._start_ms)

    def seconds(self, wall_ms: int) -> Decimal:
        """A wall time as people read it: in seconds since virtual time began, as a story counts them, and exact."""
        return Decimal(f"{wall_ms - self._start_ms}e-3")

    def when(self, wall_ms: int | None) -> str:
        """The same for a sentence."""
        return "no time at all" if wall_ms is None else f"{self.seconds(wall_ms):f} s"

    def elapsed(self, seq: int) -> int:
        """The elapsed time that processes had been told before an event."""
        return next(mono for at, mono, _ in reversed(self._clocks) if at < seq)

    def trusted(self, seq: int) -> bool:
        """Whether the wall clock was trusted before an event."""
        return next(trusted for at, _, trusted in reversed(self._clocks) if at < seq)

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The configuration of the schedule."""
        return self.configs[0][1]

    @cached_property
    def modes(self) -> Mapping[str, str]:
        """Route -> mode."""
        return {route["id"]: route["mode"] for route in self.config["routes"]}

    def routes_of(self, kind: str) -> list[Mapping[str, Any]]:
        """The routes that take Events of a kind."""
        return [route for route in self.config["routes"] if kind in route["kinds"]]

    def settled(self, lane: Lane) -> bool:
        """Whether a lane lies on a settled route."""
        return self.modes.get(lane[0]) == "settled"

    def existing(self, lane: Lane) -> bool:
        """Whether a lane lies on a route of one of the modes that were there before; of no route that nobody set up."""
        return self.modes.get(lane[0], "settled") != "settled"

    def preserving(self, lane: Lane) -> bool:
        """Whether a lane's Flow gets every raw Event of a coalesced generation."""
        return self.modes.get(lane[0]) in ("settled", "full_record_preserve")

    @property
    def window_ms(self) -> int:
        """The settle window."""
        return int(self.config["windows"]["settle_ms"])

    @property
    def lease_ms(self) -> int:
        """How long a claim holds."""
        return int(self.config["windows"]["lease_ms"])

    @property
    def backoff_ms(self) -> int:
        """The ordinary backoff."""
        return int(self.config["retry"]["backoff_ms"])

    @property
    def budget(self) -> int:
        """The retry budget."""
        return int(self.config["retry"]["budget"])

    # -- looks -------------------------------------------------------------------------------------------------

    def view(self, look: Look | None) -> View:
        """The rows of a look."""
        return self._views.of(look)

    def before(self, seq: int) -> View:
        """The rows before an event."""
        return self.view(self.look_before(seq))

    def after(self, seq: int) -> View:
        """The rows right after an event."""
        return self.view(self.look_after(seq))

    def result_view(self, command: Command) -> View:
        """The rows right after the answer to a command, or after the kill that ended it."""
        return self.view(self.look_after(command.until if command.until != END else command.seq))

    @cached_property
    def views(self) -> list[tuple[Look, View]]:
        """Every look that shows other rows than the one before it."""
        found: list[tuple[Look, View]] = []
        for look in self.looks:
            view = self.view(look)
            if not found or found[-1][1] is not view:
                found.append((look, view))
        return found

    @property
    def last(self) -> View:
        """The rows at the end."""
        return self.view(self.looks[-1] if self.looks else None)

    # -- births ------------------------------------------------------------------------------------------------

    @cached_property
    def births(self) -> Mapping[int, Birth]:
        """The birth of every row, by Id."""
        found: dict[int, Birth] = {}
        previous = self.view(None)
        for look, view in self.views:
            for id_, event in view.events.items():
                if id_ not in found:
                    found[id_] = Birth(event, look.seq, self._author(event, look.seq), previous)
            previous = view
        return found

    def _author(self, event: Stored, seq: int) -> Command | None:
        delivery = event.raw["delivery"]
        for command in reversed(self.commands):
            if command.seq > seq:
                continue
            if command.cmd == "lane.deliver" and command.args["delivery"] == delivery:
                return command
            if command.cmd == "lane.load_rows" and any(row["id"] == event.id for row in command.args["rows"]):
                return command
            if command.cmd == "lane.replay" and command.result.get("event") == event.id:
                return command
        return None

    @cached_property
    def loaded(self) -> frozenset[int]:
        """The Ids of rows that an older version stored."""
        return frozenset(
            row["id"] for c in self.commands if c.cmd == "lane.load_rows"
            for row in c.args["rows"]
        )  # fmt: skip

    def delivered(self) -> Iterator[Birth]:
        """The births that deliveries brought."""
        return (b for b in self.births.values() if b.command is not None and b.command.cmd == "lane.deliver")

    # -- attempts ----------------------------------------------------------------------------------------------

    @cached_property
    def attempts(self) -> list[Attempt]:
        """Every claim that was told, in order."""
        found: list[Attempt] = []
        held: dict[str, Attempt | None] = {}
        killed = sorted(self.kills)
        for command in self.commands:
            while killed and killed[0][0] < command.seq:
                held.pop(killed.pop(0)[1], None)
            status = command.result.get("status")
            mine = held.get(command.proc)
            if command.cmd == "lane.claim":
                held[command.proc] = None
                if status == "claimed":
                    attempt = Attempt(len(found), command.proc, command, int(command.result["event"]))
                    found.append(attempt)
                    held[command.proc] = attempt
            elif command.cmd == "lane.input" and mine is not None and status == "read":
                mine.reads.append(command)
            elif command.cmd == "lane.finish" and mine is not None:
                mine.finishes.append(command)
                if status in ("recorded", "lost"):
                    held[command.proc] = None
        return found

    @cached_property
    def of_head(self) -> Mapping[int, list[Attempt]]:
        """The attempts of each head."""
        found: dict[int, list[Attempt]] = defaultdict(list)
        for attempt in self.attempts:
            found[attempt.head].append(attempt)
        return found

    def lane_of(self, event: int) -> Lane | None:
        """The lane of a row."""
        birth = self.births.get(event)
        return birth.event.lane if birth is not None else None

    @cached_property
    def ends(self) -> Mapping[int, tuple[int, str]]:
        """Head -> (event at which the rows first show it as ended, how): processed, dead or skipped."""
        found: dict[int, tuple[int, str]] = {}
        for look, view in self.views:
            for id_, event in view.events.items():
                if event.executed and id_ not in found:
                    found[id_] = (look.seq, event.state)
        return found

    def consumer(self, head: int) -> Attempt | None:
        """The attempt by which a head ended: the last one whose outcome may have been recorded before."""
        end = self.ends.get(head)
        if end is None:
            return None
        mine = [a for a in self.of_head.get(head, ()) if a.claim.seq < end[0]]
        return mine[-1] if mine else None

    @cached_property
    def consumed_by(self) -> Mapping[int, list[int]]:
        """Row -> the ended heads whose last input held it, the head itself included."""
        found: dict[int, list[int]] = defaultdict(list)
        for head in self.ends:
            attempt = self.consumer(head)
            for id_ in dict.fromkeys([*((attempt.input or ()) if attempt is not None else ()), head]):
                found[id_].append(head)
        return found

    @cached_property
    def blind(self) -> frozenset[Lane]:
        """Lanes in which a head ended without an input that was seen: nobody can tell what it consumed."""
        found: set[Lane] = set()
        for head in self.ends:
            attempt = self.consumer(head)
            lane = self.lane_of(head)
            if lane is not None and head not in self._born_ended and (attempt is None or not attempt.reads):
                found.add(lane)
        return frozenset(found)

    @cached_property
    def _born_ended(self) -> frozenset[int]:
        return frozenset(id_ for id_, b in self.births.items() if id_ in self.loaded and not b.event.open)

    @property
    def born_ended(self) -> frozenset[int]:
        """Rows that were loaded as processed, dead or skipped."""
        return self._born_ended

    def lost_leases(self, head: int) -> int:
        """Claims of a head that brought no recorded outcome."""
        return sum(
            not any(f.result.get("status") == "recorded" for f in a.finishes) for a in self.of_head.get(head, ())
        )

    def tried(self, event: Stored, seq: int) -> bool:
        """Whether a row had been claimed before an event, however the implementation counts attempts."""
        return bool(event.raw["attempts"]) or any(a.claim.until < seq for a in self.of_head.get(event.id, ()))

    def lease_lost(self, head: int, seq: int) -> bool:
        """Whether a claim of a row ended before an event without a recorded outcome."""
        mine = [a for a in self.of_head.get(head, ()) if a.claim.until < seq]
        return any(not any(f.seq < seq and f.result.get("status") == "recorded" for f in a.finishes) for a in mine)

    # -- faults ------------------------------------------------------------------------------------------------

    def faults_on(self, entity: str, source: str | None, dests: tuple[str, ...]) -> Iterator[tuple[Fault, str]]:
        """(fault, kind) of faults at a commit with such a move; kind as cells are named: crash-before and so on."""
        for fault in self.faults:
            if not any(c[0] == entity and c[1] == source and c[2] in dests for c in fault.changes):
                continue
            if fault.action == "crash":
                yield fault, "crash-after" if fault.point.endswith(":committed") else "crash-before"
            elif fault.action == "lose-ack":
                yield fault, "lost"


def alone(index: Index, command: Command) -> bool:
    """Whether no other process did anything, and no time passed, while a command was outstanding."""
    others = any(command.seq < c.seq < command.until for c in index.commands)
    return not others and index.now(command.seq) == index.now(command.until)
