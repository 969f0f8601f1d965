"""A scenario: a short script without assertions, from which the sweep derives its schedules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.search.program import Op, Program


@dataclass(frozen=True, slots=True)
class Scenario:
    """``ops`` are run by the processes that they name; the first process is the one that faults strike.

    ``seconds`` are scripts of a second actor, each run at every point where the first can be paused; those in ``twice``
    are themselves paused at each of their points. ``retry`` is what the callers ask again in the epilogue.
    ``strikes`` are the actions that strike the first process at its calls: fewer where a script is about one alone.
    An ``outage`` is a store that stays down from a commit on, a ``blackout`` one that stays down from a read on; few
    scripts need them. ``stalls`` are further kinds of calls at which the second actor comes, the first being made to
    hang there: a ``clock`` read stands between steps where no store call does.
    """

    id: str
    family: str
    config: Mapping[str, Any]
    ops: tuple[Op, ...]
    retry: tuple[Op, ...] = ()
    seconds: Mapping[str, tuple[Op, ...]] = field(default_factory=dict)
    twice: tuple[str, ...] = ()
    remote_faults: bool = True
    strikes: frozenset[str] = frozenset({"fail", "lose-ack", "crash"})
    limits: Mapping[str, int] = field(default_factory=dict)
    stalls: frozenset[str] = frozenset()

    def program(self) -> Program:
        """The script alone."""
        return Program(self.id, self.family, self.config, self.ops, self.limits)

    @property
    def swept(self) -> bool:
        """Whether a sweep makes more of it than the script itself."""
        return bool(self.strikes or self.seconds or self.remote_faults)

    @property
    def symbolic(self) -> bool:
        """Whether the script names calls by what they do to the rows, so that it has to be recorded to be run."""
        return any(op.op == "arm-effect" for op in self.ops)

    @property
    def victim(self) -> str:
        """The process that faults strike: the last one that the script starts."""
        return [op.proc for op in self.ops if op.op == "start"][-1]
