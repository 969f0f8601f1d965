"""The rows of settle lanes as one snapshot shows them: Events by Id, WorkItems by Event, lanes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from conformance.checkers.timeline import Look
from statemachines.lanes import LaneError, Row

#: A source on a route.
Lane = tuple[str, str]
Raw = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stored:
    """One Event with its WorkItem (None where there is none) and the key that decides its place."""

    raw: Raw
    item: Raw | None
    key: Row

    @property
    def id(self) -> int:
        """Id."""
        return int(self.raw["event"])

    @property
    def lane(self) -> Lane:
        """(route, source)."""
        return (str(self.raw["route"]), str(self.raw["source"]))

    @property
    def state(self) -> str:
        """Where the Event stands."""
        return str(self.raw["state"])

    @property
    def ordinal(self) -> int:
        """EnqueueOrdinal."""
        return int(self.raw["ordinal"])

    @property
    def not_before(self) -> int | None:
        """NextAttemptAt."""
        value = self.raw["not_before"]
        return None if value is None else int(value)

    @property
    def run_after(self) -> int | None:
        """RunAfter of its WorkItem."""
        value = self.item["run_after"] if self.item is not None else None
        return None if value is None else int(value)

    @property
    def token(self) -> str | None:
        """The claim token; an empty one is none (ambiguity 'Empty diagnostic')."""
        return self.raw["token"] or None

    @property
    def error(self) -> str | None:
        """LastError; an empty one is none."""
        return self.raw["error"] or None

    @property
    def executed(self) -> bool:
        """Whether it ended a generation (Scope Guard, s7 to s9)."""
        if self.state == "skipped":
            return self.token is not None and self.error is None
        return self.state in ("processed", "dead")

    @property
    def collapsed(self) -> bool:
        """Whether it was collapsed into a head."""
        return self.state == "skipped" and not self.executed

    @property
    def open(self) -> bool:
        """Whether it is still to be executed or being executed."""
        return self.state in ("pending", "processing")


class View:
    """One snapshot."""

    def __init__(self, kinds: Mapping[str, Any]) -> None:
        items = {row["event"]: row for row in kinds.get("work_items", ())}
        self.events: dict[int, Stored] = {}
        for raw in kinds.get("events", ()):
            key = _key(raw)
            if key is not None:
                self.events[raw["event"]] = Stored(raw, items.get(raw["event"]), key)

    @cached_property
    def lanes(self) -> Mapping[Lane, list[Stored]]:
        """The Events of each lane, by Id."""
        found: dict[Lane, list[Stored]] = defaultdict(list)
        for event in self.events.values():
            found[event.lane].append(event)
        return found

    def lane(self, lane: Lane) -> list[Stored]:
        """The Events of one lane."""
        return self.lanes.get(lane, [])

    def running(self, lane: Lane) -> list[Stored]:
        """What is being executed in a lane."""
        return [e for e in self.lane(lane) if e.state == "processing"]


def _key(raw: Raw) -> Row | None:
    try:
        return Row(raw["event"], int(raw["ordinal"]), raw["created_at"], raw["sequence"])
    except (LaneError, KeyError):
        return None


_NOTHING = View({})


class Views:
    """Views of looks, each parsed once; equal row lists are parsed once only."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Any, View]] = {}

    def of(self, look: Look | None) -> View:
        """The view of a look; an empty one where there is none."""
        if look is None:
            return _NOTHING
        kinds = look.kinds
        key = (id(kinds.get("events")), id(kinds.get("work_items")))
        if key not in self._known:
            self._known[key] = (kinds, View(kinds))
        return self._known[key][1]
