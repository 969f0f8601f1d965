"""The history: one stream of events, whatever produced it, and the only thing that a checker sees.

Every event has a class. ``suite``, ``wire``, ``answer`` and ``rows`` are evidence; ``note`` is story (DESIGN 2.1).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

EVIDENCE: Final = frozenset({"suite", "wire", "answer", "rows"})
CLASSES: Final = EVIDENCE | {"note"}


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened: its number in the history, class, kind, the process concerned, and its members."""

    seq: int
    cls: str
    kind: str
    proc: str
    data: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The event as a JSON object."""
        return {"seq": self.seq, "class": self.cls, "kind": self.kind, "proc": self.proc, **self.data}

    @staticmethod
    def from_json(obj: Mapping[str, Any]) -> Event:
        """The inverse of :meth:`to_json`; raises KeyError when a member is missing."""
        data = {k: v for k, v in obj.items() if k not in ("seq", "class", "kind", "proc")}
        return Event(obj["seq"], obj["class"], obj["kind"], obj["proc"], data)


@dataclass(slots=True)
class Recorder:
    """Collects the events of one schedule in order."""

    events: list[Event] = field(default_factory=list)

    def add(self, cls: str, kind: str, proc: str = "", **data: Any) -> Event:
        """Append one event and return it; refuses an unknown class."""
        if cls not in CLASSES:
            raise ValueError(f"event class {cls!r} is none of {sorted(CLASSES)}")
        event = Event(len(self.events), cls, kind, proc, data)
        self.events.append(event)
        return event


@dataclass(frozen=True, slots=True)
class History:
    """A finished schedule: its id, the family that it exercised, declared readings, and all events in order."""

    schedule: str
    family: str
    readings: Mapping[str, str]
    events: tuple[Event, ...]

    def of(self, *classes: str) -> Iterator[Event]:
        """The events of these classes, in order."""
        return (e for e in self.events if e.cls in classes)

    def to_json(self) -> dict[str, Any]:
        """The whole history as a JSON object."""
        return {
            "schedule": self.schedule,
            "family": self.family,
            "readings": dict(self.readings),
            "events": [e.to_json() for e in self.events],
        }

    @staticmethod
    def from_json(obj: Mapping[str, Any]) -> History:
        """The inverse of :meth:`to_json`; raises KeyError when a member is missing."""
        events = tuple(Event.from_json(e) for e in obj["events"])
        return History(obj["schedule"], obj["family"], dict(obj["readings"]), events)

    def canonical(self) -> str:
        """A text that is equal for equal evidence: what the carrier differential compares."""
        return json.dumps([e.to_json() for e in self.of(*EVIDENCE)], sort_keys=True)


#: The kinds of rows with a life of their own: (kind in a snapshot, its column of ids, entity of the specification).
LIVING: Final = (("attempts", "attempt", "mutation_attempt"), ("reservations", "reservation", "key_reservation"))


def states_of(kinds: Mapping[str, Any]) -> dict[tuple[str, str], str | None]:
    """(entity, id) -> state in one snapshot: what a driver without a status log is known by."""
    return {(entity, row[key]): row.get("state") for kind, key, entity in LIVING for row in kinds.get(kind, ())}
