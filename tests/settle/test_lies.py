"""Rows and answers that lie are judged like any others: whatever they say, no checker and no drawing breaks."""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from conformance.families.settle_lanes.picture import lane_picture
from conformance.history import Event
from conformance.judge import judge
from tests.settle.edits import FAMILY, edited, named, rows
from tests.settle.runs import history, scripts

Kinds = dict[str, Any]
FAR = 2**53
STATES = ("pending", "processing", "processed", "dead", "skipped")
COLUMNS: dict[str, tuple[Any, ...]] = {
    "event": (-1, 0, FAR, 999),
    "route": ("nowhere", "settled", "full_record"),
    "source": ("\x1b[2J<b>",),
    "state": STATES,
    "ordinal": (0, 1, FAR),
    "created_at": (-FAR, 0, FAR),
    "sequence": (5,),
    "delivery": ("another",),
    "not_before": (None, -1, FAR),
    "attempts": (0, 7, FAR),
    "token": (None, "", "t"),
    "error": (None, "", "e"),
    "served": (None, 999, -1),
    "replayed_by": (None, 999),
    "lease_expires_at": (None, -1),
    "payload": ("",),
}


def _drop(kinds: Kinds, id_: int, rnd: random.Random) -> None:
    kind = rnd.choice(["events", "work_items"])
    kinds[kind] = [row for row in kinds.get(kind, ()) if row["event"] != id_]


def _vanish(kinds: Kinds, _: int, rnd: random.Random) -> None:
    kinds.pop(rnd.choice(["events", "work_items"]), None)


def _overwrite(kinds: Kinds, id_: int, rnd: random.Random) -> None:
    column = rnd.choice(list(COLUMNS))
    value = rnd.choice(COLUMNS[column])
    for row in kinds.get("events", ()):
        row.update({column: value} if row["event"] == id_ else {})


def _add(kinds: Kinds, _: int, rnd: random.Random) -> None:
    if kinds.get("events"):
        row = {**rnd.choice(kinds["events"]), "event": 777, "state": rnd.choice(STATES)}
        kinds["events"] = [*kinds["events"], row]


LIES: list[Callable[[Kinds, int, random.Random], None]] = [_drop, _vanish, _overwrite, _add]


def _answers(events: list[Event], ids: list[int], rnd: random.Random) -> None:
    told = [e for e in events if e.kind == "answer" and e.data.get("result")]
    for event in rnd.sample(told, min(len(told), 3)):
        result = event.data["result"]
        if "event" in result:
            result["event"] = rnd.choice([-1, FAR, *ids])
        if result.get("rows"):
            result["rows"] = rnd.choice([[], result["rows"] * 2, result["rows"][::-1], [{"event": -7, "payload": ""}]])
        if event.data["cmd"] == "lane.claim":
            result.update({"status": "claimed", "event": rnd.choice(ids)})


def lied(name: str, rnd: random.Random) -> list[Event]:
    """The events of a scenario, with lies in rows and answers."""
    events = [replace(e, data=deepcopy(dict(e.data))) for e in history(scripts()[name]).events]
    looks = [e for e in events if e.cls == "rows"]
    ids = sorted({row["event"] for e in looks for row in e.data["kinds"].get("events", ())}) or [1]
    for _ in range(rnd.choice([1, 1, 2, 4])):
        lie, id_ = rnd.choice(LIES), rnd.choice(ids)
        for event in looks if rnd.random() < 0.5 else rnd.sample(looks, (len(looks) + 1) // 2):
            lie(event.data["kinds"], id_, rnd)
    if rnd.random() < 0.3:
        _answers(events, ids, rnd)
    return events


@pytest.mark.parametrize("seed", range(6))
def test_no_lie_breaks_a_checker_or_a_drawing(seed: int) -> None:
    rnd = random.Random(seed)
    for name in scripts():
        told = replace(history(scripts()[name]), events=tuple(lied(name, rnd)))
        index = FAMILY.index(told)
        for verdict in judge(FAMILY, told, {}):
            for violation in verdict.violations[:1]:
                assert "\x1b" not in lane_picture(index, violation)


def test_a_route_that_nobody_set_up_is_of_no_mode() -> None:
    assert "SETTLE-014" not in named(edited("budget-settled", rows(1, route="nowhere", not_before=FAR)))
