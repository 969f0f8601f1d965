"""The seam: every port call of one driver process passes through it, and faults are fired there.

A point is named ``<step>:<call>``. The part after the colon says what kind of call it is, so that the suite can
tell from the name alone which actions apply (see ``POINT_CALLS``); the step is a label and carries no meaning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

Message = dict[str, Any]

#: The kinds of port call, and the actions that may be armed on each (DESIGN section 5, table of actions).
POINT_CALLS: Final[dict[str, frozenset[str]]] = {
    "begin": frozenset({"pause", "fail", "hang"}),
    "read": frozenset({"pause", "fail", "hang"}),
    "tx-read": frozenset({"fail", "hang"}),
    "write": frozenset({"fail", "hang"}),
    "commit": frozenset({"fail", "lose-ack", "hang"}),
    "committed": frozenset({"pause", "hang"}),
    "remote": frozenset({"pause", "hang"}),
    "answered": frozenset({"pause", "hang"}),
    "clock": frozenset({"hang"}),
    "id": frozenset({"hang"}),
}


class Cut(BaseException):
    """The process has crashed: raised by every port call after a kill, before any effect.

    It derives from ``BaseException`` so that no handler of the implementation mistakes a crash for an error.
    """


class StoreFailed(Exception):
    """A store call certainly did nothing (action ``fail``)."""


class AckLost(Exception):
    """A commit may or may not have happened: its acknowledgement was lost (action ``lose-ack``)."""


@dataclass(slots=True)
class Armed:
    """One armed action; ``nth`` counts matching calls from the moment of arming."""

    point: str
    nth: int
    action: str
    world: str | None
    sticky: bool
    seen: int = 0
    spent: bool = False


class Seam:
    """Counts, announces and disturbs the port calls of one process.

    ``emit`` sends an unsolicited event line; ``suspend`` gives control back to the kit until the suite resumes.
    """

    def __init__(self, actor: str, emit: Callable[[Message], None], suspend: Callable[[], None]) -> None:
        self.actor = actor
        self.record = False
        self.cut = False
        self._emit = emit
        self._suspend = suspend
        self._armed: list[Armed] = []
        self._seen: Counter[str] = Counter()
        self._pauses = 0
        self.paused: int | None = None

    def arm(self, point: str, nth: int, action: str, world: str | None, sticky: bool) -> None:
        """Arm ``action`` on the ``nth`` matching call from now; ``none`` lifts what is armed on the point.

        ``point`` ``*`` matches every call on which the action may be taken. Raises ValueError for an action that
        the point's kind of call does not allow.
        """
        if action == "none":
            self._armed = [a for a in self._armed if a.point != point]
            return
        call = point.rpartition(":")[2]
        if point != "*" and action not in POINT_CALLS.get(call, frozenset()):
            raise ValueError(f"point {point!r}: a {call!r} call cannot be made to {action}")
        self._armed.append(Armed(point, nth, action, world, sticky))

    def reach(self, step: str, call: str) -> str | None:
        """Announce one port call, let an armed action strike, and return the world of a lost acknowledgement.

        Raises :class:`Cut` after a kill and :class:`StoreFailed` when ``fail`` is armed here. The value is
        ``committed`` or ``rolled_back`` when the caller must lose the acknowledgement of its commit.
        """
        if self.cut:
            raise Cut
        point = f"{step}:{call}"
        self._seen[point] += 1
        if self.record:
            self._emit(self._event("point", point))
        if not self._armed:
            return None
        return self._strike(point, call)

    def _strike(self, point: str, call: str) -> str | None:
        world: str | None = None
        for armed in self._armed:
            if armed.spent or armed.point not in ("*", point) or armed.action not in POINT_CALLS[call]:
                continue
            armed.seen += 1
            if armed.seen < armed.nth or (armed.seen > armed.nth and not armed.sticky):
                continue
            armed.spent = not armed.sticky
            self._emit({**self._event("fired", point), "action": armed.action})
            if armed.action in ("pause", "hang"):
                self._pause(point)
            elif armed.action == "fail":
                raise StoreFailed(f"{point} failed")
            else:
                world = armed.world or "committed"
        return world

    def _pause(self, point: str) -> None:
        self._pauses += 1
        self.paused = self._pauses
        self._emit({"event": "paused", "pause": self._pauses, "point": point, "actor": self.actor})
        while self.paused is not None:
            self._suspend()
        if self.cut:
            raise Cut

    def _event(self, event: str, point: str) -> Message:
        return {"event": event, "point": point, "nth": self._seen[point], "actor": self.actor}
