"""Who holds which key: every generation of every namespace and key, and what each keyed invocation met there.

With rows the generations are the reservations, each placed by the invocation that made its attempt. Without rows they
are the keyed invocations that were seen at the remote: less, and enough for a black box.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from conformance.checkers.mutation.coordinates import Coordinates, coordinates
from conformance.checkers.mutation.facts import END, Clock, Command

if TYPE_CHECKING:
    from conformance.checkers.mutation.index import Index

RETENTION_MS: Final = 86_400_000
DEADLINE_MS: Final = 20_000
#: A host's clock runs ahead of the suite's base by the ticks of its own reads.
TICKS_MS: Final = 1_000
KNOWN: Final = frozenset({"Completed", "Failed", "Aborted"})
UNSETTLED: Final = frozenset({"Prepared", "Dispatching"})
GONE: Final = "gone"
_REFUSED: Final = "connect-failure-after-gate"


@dataclass(slots=True, eq=False)
class Generation:
    """One generation of a key: who made it, and its states with the events in which each was first seen.

    ``settled`` is where a known result was first seen. Without rows ``attempt`` is empty and a state is what the wire
    proves: ``Pending`` while the remote has the request, ``Replayable`` after a known answer, else ``Unresolved``.
    """

    id: str
    attempt: str
    owner: Command
    at: Coordinates
    born: int
    states: list[tuple[int, str]]
    attempt_states: list[tuple[int, str]] = field(default_factory=list)
    settled: int | None = None

    def state(self, seq: int) -> str | None:
        """Its state ahead of an event; None before it was seen."""
        return _before(self.states, seq)

    def attempt_state(self, seq: int) -> str | None:
        """The state of its attempt ahead of an event."""
        return _before(self.attempt_states, seq)

    def holds(self, seq: int) -> str | None:
        """The live state in which it holds its key ahead of an event; None when it does not.

        What is gone without a known result still holds: nobody may remove it. Beside an Indeterminate attempt a
        reservation that lags behind acts as Quarantined (quarantine-atomicity).
        """
        at = bisect_left(self.states, seq, key=lambda s: s[0])
        live = next((s for _, s in reversed(self.states[:at]) if s not in ("Expired", GONE)), None)
        if not at or live is None:
            return None
        if live == "Pending" and self.attempt_state(seq) == "Indeterminate":
            live = "Quarantined"
        lost = self.states[at - 1][1] in ("Expired", GONE)
        if not lost:
            return live
        known = live == "Replayable" or (live == "Pending" and self.attempt_state(seq) in KNOWN)
        return None if known else live


@dataclass(frozen=True, slots=True)
class Meeting:
    """An admitted keyed invocation that came while somebody else's generation held its key, for all of its call."""

    command: Command
    generation: Generation
    state: str
    axes: frozenset[str]
    #: The rows do not show the generation any more, though nobody may have removed it.
    lost: bool

    @property
    def equal(self) -> bool:
        """Whether both ask for the same."""
        return not self.axes


class Slots:
    """The generations of one history by namespace and key. Linear in rows and commands."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self.at: dict[int, Coordinates] = {}
        for command in index.invocations:
            place = coordinates(command)
            if place is not None:
                self.at[command.seq] = place
        self.by_rows = any(rows.reservations is not None for rows in index.rows)
        self.generations: dict[str, Generation] = {}
        self.born: dict[str, int] = {}
        for rows in index.rows:
            for attempt in rows.attempts:
                self.born.setdefault(attempt, rows.seq)
        (self._from_rows if self.by_rows else self._from_wire)()
        self._by_slot: dict[Any, list[Generation]] = {}
        self._by_key: dict[str, list[Generation]] = {}
        for generation in self.generations.values():
            self._by_slot.setdefault(generation.at.slot, []).append(generation)
            self._by_key.setdefault(generation.at.key, []).append(generation)
        self._struck = {
            f.command.seq for f in index.faults if f.command is not None and f.action in ("fail", "lose-ack")
        }

    # -- questions ---------------------------------------------------------------------------------------------

    @cached_property
    def meetings(self) -> tuple[Meeting, ...]:
        """Every meeting with a generation that is there, in the order of the commands."""
        return tuple(m for m in self.claims if not m.lost)

    @cached_property
    def claims(self) -> tuple[Meeting, ...]:
        """The same, and those with an unresolved generation that the rows do not show any more."""
        return tuple(self._meet())

    def of(self, place: Coordinates) -> list[Generation]:
        """The generations of one namespace and key, oldest first."""
        return self._by_slot.get(place.slot, [])

    def under(self, key: str) -> list[Generation]:
        """The generations of one key in every namespace."""
        return self._by_key.get(key, [])

    def keyed(self) -> Iterator[tuple[Command, Coordinates]]:
        """The admitted keyed invocations with their coordinates."""
        for command in self._index.invocations:
            if command.seq in self.at:
                yield command, self.at[command.seq]

    def own_attempts(self, command: Command) -> list[str]:
        """The attempts that this very call brought into being; the audit of a refusal, born Aborted, is none."""
        mine = self._index.attempts_of(command)
        return [a for a in mine if self.born.get(a, -1) > command.seq and not self._never_prepared(a)]

    def sent(self, command: Command) -> bool:
        """Whether this very call was seen at the remote."""
        return bool(self._index.connections_of(command))

    def struck(self, command: Command) -> bool:
        """Whether a fault of the store struck the call."""
        return command.seq in self._struck

    def undisturbed(self, command: Command) -> bool:
        """Whether the call was answered in time, under one configuration, not cancelled, its store intact."""
        if command.outcome != "done" or self.struck(command) or self._index.elapsed(command) >= DEADLINE_MS:
            return False
        if self._index.reconfigured(command):
            return False
        cancels = self._index.during(command, frozenset({"host.cancel"}))
        return not any(c.args.get("request_id") == command.request_id for c in cancels)

    def free(self, command: Command, place: Coordinates) -> bool:
        """Whether nobody holds the key in the namespace of a call, from its beginning to its end."""
        held = (g for g in self.of(place) if g.owner is not command)
        return not any(g.holds(command.seq) or command.seq <= g.born <= self._index.seen_by(command) for g in held)

    def within_retention(self, generation: Generation, until: int) -> bool:
        """Whether, up to an event, no trusted clock had shown that the retention of a known result was over.

        The settlement counts from the true time: what an untrusted clock said then is corrected by the elapsed time to
        the first trusted one.
        """
        began = None if generation.settled is None else self._index.clock_at(self._stamped(generation))
        if began is None:
            return True
        later = [c for c in self._index.clocks if began.seq <= c.seq < until and c.trusted]
        base = _true_wall(began, later)
        return base is None or all(c.wall_ms + TICKS_MS - base < RETENTION_MS for c in later)

    def _stamped(self, generation: Generation) -> int:
        """The event by which a settlement was dated: who stands between reading time and writing it dates it before."""
        seen, owner = generation.settled or 0, generation.owner
        answered = max((c.end_seq for c in self._index.connections_of(owner)), default=0)
        stops = (f.seq for f in self._index.faults if f.command is owner and f.action in ("pause", "hang"))
        return min((seq for seq in stops if answered < seq < seen), default=seen)

    # -- building ----------------------------------------------------------------------------------------------

    def _meet(self) -> Iterator[Meeting]:
        for command, place in self.keyed():
            for generation in reversed(self.of(place)):
                state = generation.holds(command.seq)
                if state is None or generation.owner is command:
                    continue
                if self.within_retention(generation, command.until):
                    lost = generation.state(command.seq) in ("Expired", GONE)
                    yield Meeting(command, generation, state, place.differing(generation.at), lost)
                break

    def _never_prepared(self, attempt: str) -> bool:
        first = next(iter(self._index.moves_of(attempt)), None)
        return (first.dest if first is not None else self._index.attempts[attempt].get("state")) == "Aborted"

    def _from_rows(self) -> None:
        attempts: object = None
        for rows in self._index.rows:
            if rows.attempts is attempts:
                continue
            attempts = rows.attempts
            held = rows.reservations or {}
            for name, row in held.items():
                if name not in self.generations:
                    self._found(name, str(row["attempt"]), rows.seq)
            for name, generation in self.generations.items():
                row_now = held.get(name)
                state = GONE if row_now is None else str(row_now.get("state"))
                if not generation.states or generation.states[-1][1] != state:
                    generation.states.append((rows.seq, state))
                attempt_now = rows.state(generation.attempt)
                told = generation.attempt_states
                if attempt_now is not None and (not told or told[-1][1] != attempt_now):
                    told.append((rows.seq, attempt_now))
                    if generation.settled is None and attempt_now in KNOWN:
                        generation.settled = rows.seq

    def _found(self, name: str, attempt: str, seq: int) -> None:
        owner = self._index.owner(attempt) if attempt in self._index.attempts else None
        place = self.at.get(owner.seq) if owner is not None else None
        if owner is not None and place is not None:
            self.generations[name] = Generation(name, attempt, owner, place, seq, [])

    def _from_wire(self) -> None:
        for connection in self._index.connections:
            sender = connection.sender
            place = self.at.get(sender.seq) if sender is not None else None
            if sender is None or place is None:
                continue
            states = [(connection.seq, "Pending")]
            # Who was killed hears no answer any more, whether or not the remote has noticed.
            killed = sender.until if sender.outcome == "no-answer" else END
            ended = min(connection.end_seq, killed)
            settled = None
            if ended < END:
                refused = self._index.readings.get(_REFUSED) == "failed-by-declared-evidence"
                known = (connection.known or (refused and connection.how == "reset")) and sender.outcome == "done"
                states.append((ended, "Replayable" if known else "Unresolved"))
                settled = ended if known else None
            name = f"c{connection.number}"
            self.generations[name] = Generation(name, "", sender, place, connection.seq, states, [], settled)


def _before(states: list[tuple[int, str]], seq: int) -> str | None:
    at = bisect_left(states, seq, key=lambda s: s[0])
    return states[at - 1][1] if at else None


def _true_wall(began: Clock, later: list[Clock]) -> int | None:
    if began.trusted:
        return began.wall_ms
    first = next(iter(later), None)
    return None if first is None else first.wall_ms - (first.mono_ms - began.mono_ms)
