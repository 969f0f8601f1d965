"""The moves of random walks: the family's commands, and every fault that any family meets.

Each move has a name, which is what rarity is counted by, and makes its ops when it is chosen. A move is only offered
where it can do something. None asserts anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from conformance.families.base import Walk
from conformance.search.execute import Execution
from conformance.search.program import SETTLE, Op, kill, release, script, start

#: The point, the action that is armed there, and the world of a lost acknowledgement.
ArmChoice = tuple[str, str, str | None]
REMOTE: Final = (
    *("hold", "hold-at-accept", "late", "apply-then-drop", "drop-before-read", "refuse-connection"),
    *("definite-refusal", "malformed", "partial"),
)
STATUSES: Final = (200, 401, 408, 429, 500, 503)
#: A command counts as much as so many faults.
_COMMAND_SHARE: Final = 4.0
ANSWERS: Final = ("success", "definite-refusal", "apply-then-drop")


@dataclass(frozen=True, slots=True)
class WalkMove:
    """One thing that a walk may do next. ``share`` multiplies its weight: a fault needs something to strike."""

    name: str
    make: Callable[[Random], tuple[Op, ...]]
    share: float = 1.0


class Moves:
    """What may be done on a driver of one family; ``arms`` are the faults that its recorded points allow."""

    def __init__(self, walk: Walk, arms: Sequence[ArmChoice]) -> None:
        self._walk = walk
        self._arms: dict[str, list[ArmChoice]] = {}
        for arm in arms:
            self._arms.setdefault(arm[1] if arm[2] is None else f"{arm[1]} {arm[2]}", []).append(arm)

    def offered(self, run: Execution, serial: int, *, first: bool) -> Iterator[WalkMove]:
        """The moves that can do something now; ``serial`` numbers the commands, ``first`` is where a walk begins."""
        others = list(self._moves(run, serial))
        yield from others
        if first and self._walk.opening:
            yield WalkMove("opening", lambda _: self._walk.opening, sum(move.share for move in others))

    def _moves(self, run: Execution, serial: int) -> Iterator[WalkMove]:
        yield from self._commands(run, serial)
        idle = [proc for proc in self._walk.workers if not run.busy(proc)]
        if idle:
            for kind, arms in self._arms.items():
                yield WalkMove(f"arm {kind}", lambda r, a=arms: _arm(run, r.choice(idle), r.choice(a), r))  # type: ignore[misc]
        if self._walk.remote:
            for kind in REMOTE:
                yield WalkMove(f"remote {kind}", lambda _, k=kind: (script(k),))  # type: ignore[misc]
            yield WalkMove("remote status", lambda r: (script({"kind": "status", "status": r.choice(STATUSES)}),))
        if held := run.held():
            for answer in ANSWERS:
                yield WalkMove(f"release {answer}", lambda r, a=answer: (release(r.choice(held), a),))  # type: ignore[misc]
        if paused := run.paused():
            yield WalkMove("resume", lambda r: (Op("resume", {"proc": r.choice(paused)}),))
        if alive := [proc for proc in self._walk.workers if run.alive(proc)]:
            yield WalkMove("kill", lambda r: (kill(r.choice(alive)),))
        for number, op in enumerate(self._walk.times):
            yield WalkMove(f"time {number}", lambda _, o=op: (o, SETTLE))  # type: ignore[misc]
        if idle:
            for name, config in self._walk.configs.items():
                yield WalkMove(f"configure {name}", lambda r, c=config: _configure(r.choice(idle), c))  # type: ignore[misc]

    def _commands(self, run: Execution, serial: int) -> Iterator[WalkMove]:
        for command in self._walk.commands:
            free = [proc for proc in command.procs if not run.busy(proc)]
            if free:

                def made(
                    r: Random, make: Callable[[str, int, int], Op] = command.make, procs: list[str] = free
                ) -> tuple[Op, ...]:
                    proc = r.choice(procs)
                    return (*_ready(run, proc), make(proc, r.randrange(3), serial))

                yield WalkMove(command.name, made, _COMMAND_SHARE)


def _ready(run: Execution, proc: str) -> tuple[Op, ...]:
    return () if run.alive(proc) else (start(proc),)


def _arm(run: Execution, proc: str, arm: ArmChoice, chance: Random) -> tuple[Op, ...]:
    args = {"proc": proc, "point": arm[0], "nth": chance.choice((1, 1, 2)), "action": arm[1]}
    return (*_ready(run, proc), Op("arm", args if arm[2] is None else {**args, "world": arm[2]}))


def _configure(proc: str, config: Mapping[str, object]) -> tuple[Op, ...]:
    """The document changes by a process that starts with it: it is killed first if it lives."""
    return kill(proc), start(proc, config)
