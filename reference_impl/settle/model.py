"""The values of the settle lanes: stored Events, and the claim that a worker holds in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reference_impl.store import Row as Stored
from statemachines.lanes import Row

Raw = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """One stored Event with what its WorkItem records; ``key`` are the four columns that decide its place."""

    key: Row
    state: str
    not_before: int | None
    attempts: int
    token: str | None
    error: str | None
    served: int | None
    replayed: bool
    payload: str

    @property
    def id(self) -> int:
        """Id."""
        return int(self.key.id)

    @property
    def executed(self) -> bool:
        """Whether it ended a generation; an executed skip keeps its token and has no diagnostic (Scope Guard, s7-9)."""
        if self.state == "skipped":
            return self.token is not None and self.error is None
        return self.state in ("processed", "dead")

    def due(self, now_ms: int) -> bool:
        """Whether it waits and its time has come; without a time it never has to wait."""
        return self.state == "pending" and (self.not_before is None or self.not_before <= now_ms)

    @staticmethod
    def from_row(row: Stored) -> Event:
        """From :data:`EVENT_SQL`."""
        return Event(
            Row(row["event"], row["ordinal"], row["created_at"], row["sequence"]),
            row["state"],
            row["not_before"],
            row["attempts"],
            row["token"] or None,
            row["error"] or None,
            row["served"],
            row["replayed_by"] is not None,
            row["payload"],
        )


EVENT_SQL = (
    "SELECT e.event, e.ordinal, e.created_at, e.sequence, e.state, e.not_before, e.attempts, e.token, e.error,"
    " w.served, e.replayed_by, e.payload FROM events e JOIN work_items w ON w.event = e.event"
)


@dataclass(frozen=True, slots=True)
class Held:
    """The claim of one process: the head and its token, known to nobody after a crash."""

    event: int
    token: str
    route: str
    source: str


@dataclass(frozen=True, slots=True)
class Mode:
    """What an invocation mode does (table ``invocation_modes``)."""

    name: str
    waits: bool
    coalesces: bool
    preserves: bool
    filter: str


@dataclass(frozen=True, slots=True)
class Route:
    """A configured route: which event kinds it takes, and in which mode."""

    id: str
    kinds: tuple[str, ...]
    mode: Mode
