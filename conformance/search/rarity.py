"""What random walks have reached, and how rare it was: the weights of their moves (DESIGN section 6).

What a walk reaches are *moves of rows* (lifecycle, state before, state after) and the states they end in. A *situation*
is all that a choice may depend on: which states rows are in, how many others there are, and whether a process is paused
or held. A move that was not yet tried in a situation is tried first; one that was counts as much as what it led to
there, and elsewhere, is rare among all that was reached.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, Final

from conformance.rows import living, states_of
from conformance.search.process import Move

#: What a move weighs that was never tried where the walk stands.
UNTRIED: Final = 2.0
#: What every move weighs at least, so that none dies out.
LEAST: Final = 0.1

#: Rows of a kind without a lifecycle are told apart up to so many.
_MANY: Final = 2

Situation = tuple[str, ...]


@dataclass(slots=True)
class Reached:
    """The histogram of some walks; two of them add up."""

    walks: int = 0
    chosen: Counter[str] = field(default_factory=Counter)
    moves: Counter[Move] = field(default_factory=Counter)
    situations: Counter[Situation] = field(default_factory=Counter)

    def add(self, other: Reached) -> None:
        """Take in what other walks reached."""
        self.walks += other.walks
        self.chosen += other.chosen
        self.moves += other.moves
        self.situations += other.situations

    @property
    def states(self) -> Counter[tuple[str, str]]:
        """(lifecycle, state) -> how often a row came into it."""
        count: Counter[tuple[str, str]] = Counter()
        for (entity, _, after), times in self.moves.items():
            if after is not None:
                count[entity, after] += times
        return count

    def to_json(self) -> dict[str, Any]:
        """The histogram as the run record holds it, rarest first."""
        moves = sorted(self.moves.items(), key=lambda item: (item[1], repr(item[0])))
        return {
            "walks": self.walks,
            "situations": len(self.situations),
            "states": len(self.states),
            "moves": [[*move, count] for move, count in moves],
            "chosen": dict(sorted(self.chosen.items())),
        }


class Rarity:
    """The memory of one sequence of walks: it sees what each move leads to and weighs the next ones."""

    def __init__(self, family: str) -> None:
        self.reached = Reached()
        self._family = family
        self._followed = {"status_log", *(kind for kind, _, _ in living(family))}
        #: (situation or None for all, move) -> the sum of what it was worth there, and how often it was made.
        self._worth: dict[tuple[Situation | None, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._states: Mapping[tuple[str, str], str | None] = {}
        self._log = 0
        self._here: Situation = ()

    def begin(self) -> None:
        """Another walk begins, on a fresh state."""
        self.reached.walks += 1
        self._states, self._log, self._here = {}, 0, ()

    def weight(self, move: str) -> float:
        """How much a move counts where the walk stands."""
        here, times = self._worth[self._here, move]
        if not times:
            return UNTRIED
        everywhere, often = self._worth[None, move]
        return max(LEAST, (here + everywhere / often) / (times + 1))

    def led_to(self, move: str, rows: Mapping[str, Any] | None, flags: tuple[str, ...]) -> None:
        """A move was made; these are the rows after it, and what else makes up the situation."""
        rows = rows or {}
        seen = self._moves(rows)
        self.reached.chosen[move] += 1
        self.reached.moves.update(seen)
        known = (self._worth[self._here, move], self._worth[None, move])
        rarest = max((1 / sqrt(self.reached.moves[m]) for m in seen), default=0.0)
        before = self.reached.situations
        others = [f"{kind} {min(len(rows[kind]), _MANY)}" for kind in sorted(rows) if kind not in self._followed]
        self._here = (*sorted({f"{entity} {state}" for (entity, _), state in self._states.items()}), *others, *flags)
        before[self._here] += 1
        for worth in known:
            worth[0] += rarest + 1 / sqrt(before[self._here])
            worth[1] += 1

    def _moves(self, rows: Mapping[str, Any]) -> list[Move]:
        """What happened to rows since the last look: from the status log, or by comparison where there is none."""
        before, self._states = self._states, states_of(self._family, rows)
        if "status_log" in rows:
            log = rows["status_log"][self._log :]
            self._log += len(log)
            return [(e["entity"], e["from_state"], e["to_state"]) for e in log]
        return [(k[0], before.get(k), state) for k, state in self._states.items() if before.get(k) != state]
