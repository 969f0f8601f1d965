"""Small edits of real histories of settle lanes: of rows, of inputs, of answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

from conformance.history import Event, History
from conformance.judge import judge
from tests.settle.runs import FAMILY, history, plan, scripts

Edit = Callable[[list[Event]], None]
Mark = tuple[str, int] | None


@cache
def passing(name: str) -> History:
    """The history of a scenario, or of one schedule of the ``ci`` plan by the end of its id; nothing is named."""
    program = scripts().get(name) or next(p for p in plan().programs if p.id.endswith(name))
    found = history(program)
    assert named(found) == set()
    return found


def named(of: History) -> set[str]:
    """The requirements that the suite names for a history."""
    return {v.requirement for v in judge(FAMILY, of, {}) if v.violations}


def edited(name: str, *edits: Edit) -> History:
    """A passing history after some edits."""
    found = passing(name)
    events = [replace(e, data=deepcopy(dict(e.data))) for e in found.events]
    for edit in edits:
        before = [deepcopy(e.data) for e in events]
        edit(events)
        assert [e.data for e in events] != before, "the edit changes nothing"
    return replace(found, events=tuple(events))


def _answer(events: list[Event], cmd: str, nth: int) -> Event:
    return [e for e in events if e.kind == "answer" and e.data["cmd"] == cmd][nth - 1]


def _since(events: list[Event], mark: Mark) -> int:
    return -1 if mark is None else _answer(events, mark[0], mark[1]).seq


def _change(kind: str, key: str, ids: Sequence[int], since: Mark, columns: dict[str, Any]) -> Edit:
    def edit(events: list[Event]) -> None:
        start = _since(events, since)
        for event in events:
            for row in event.data["kinds"].get(kind, ()) if event.cls == "rows" and event.seq > start else ():
                if row[key] in ids:
                    row.update({n: v(row[n]) if callable(v) else v for n, v in columns.items()})

    return edit


def rows(*ids: int, since: Mark = None, **columns: Any) -> Edit:
    """Columns of Events, from the answer to a command on; a value may be a function of the old one."""
    return _change("events", "event", ids, since, columns)


def items(*ids: int, since: Mark = None, **columns: Any) -> Edit:
    """Columns of the WorkItems of Events."""
    return _change("work_items", "event", ids, since, columns)


def both(*ids: int, time: object, since: tuple[str, int] | None = None) -> tuple[Edit, ...]:
    """Event and WorkItem have another time."""
    return rows(*ids, since=since, not_before=time), items(*ids, since=since, run_after=time)


def gone(id_: int, since: Mark = None, *, event: bool = True) -> Edit:
    """An Event, or its WorkItem alone, is no longer there."""

    def edit(events: list[Event]) -> None:
        start = _since(events, since)
        for e in events:
            if e.cls == "rows" and e.seq > start:
                for kind in ("events", "work_items") if event else ("work_items",):
                    e.data["kinds"][kind] = [r for r in e.data["kinds"][kind] if r["event"] != id_]

    return edit


def doubled(id_: int, since: Mark = None, **columns: Any) -> Edit:
    """An Event is there twice, the second time under another Id."""

    def edit(events: list[Event]) -> None:
        start = _since(events, since)
        for e in events:
            if e.cls == "rows" and e.seq > start:
                kinds = e.data["kinds"]
                for kind in ("events", "work_items"):
                    kinds[kind] += [
                        {**r, "event": 9_999, **({"item": 9_999} if kind == "work_items" else columns)}
                        for r in kinds[kind]
                        if r["event"] == id_
                    ]

    return edit


def answer(cmd: str, nth: int, **members: Any) -> Edit:
    """Members of the answer to the nth command of a name; None takes one out."""

    def edit(events: list[Event]) -> None:
        result = _answer(events, cmd, nth).data["result"]
        result.update(members)
        for name in [n for n, v in members.items() if v is None]:
            del result[name]

    return edit


def flow(head: int, change: Callable[[list[int]], list[int]], nth: int = 1) -> Edit:
    """The nth input of a head holds other rows, or the same in another order."""

    def edit(events: list[Event]) -> None:
        inputs = [e for e in events if e.kind == "answer" and e.data["cmd"] == "lane.input" and _head(e) == head]
        result = inputs[nth - 1].data["result"]
        payload = {r["event"]: r["payload"] for e in events if e.cls == "rows" for r in e.data["kinds"]["events"]}
        ids = change([row["event"] for row in result["rows"]])
        result["rows"] = [{"event": id_, "payload": payload[id_]} for id_ in ids]

    return edit


def _head(event: Event) -> int | None:
    result = event.data.get("result", {})
    return result.get("event") if result.get("status") == "read" else None


def payload(head: int, text: str) -> Edit:
    """The first payload of an input is another one."""

    def edit(events: list[Event]) -> None:
        found = next(e for e in events if e.kind == "answer" and e.data["cmd"] == "lane.input" and _head(e) == head)
        found.data["result"]["rows"][0]["payload"] = text

    return edit


def clock(**members: Any) -> Edit:
    """Members of the first time that the suite tells."""

    def edit(events: list[Event]) -> None:
        next(e for e in events if (e.cls, e.kind) == ("suite", "time")).data.update(members)

    return edit


def drop(*ids: int) -> Callable[[list[int]], list[int]]:
    """Without these rows."""
    return lambda found: [id_ for id_ in found if id_ not in ids]


def add(*ids: int) -> Callable[[list[int]], list[int]]:
    """With these rows in front."""
    return lambda found: [*ids, *found]


def swap(one: int, two: int) -> Callable[[list[int]], list[int]]:
    """Two places exchanged."""

    def change(found: list[int]) -> list[int]:
        found = list(found)
        found[one], found[two] = found[two], found[one]
        return found

    return change


def head_first(found: list[int]) -> list[int]:
    """The last row in front."""
    return [found[-1], *found[:-1]]


def later(ms: int) -> Callable[[int | None], int | None]:
    """A time that much later, where there is one."""
    return lambda value: None if value is None else value + ms
