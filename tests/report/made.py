"""A run record made by hand, in which every status occurs: small, fixed, and as the published schema wants it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

CONTEXT = {"caller": "alice", "tenant": None, "realm": None, "executor": None}


def requirement(id_: str, *cells: tuple[str, str], profile: str = "mutation-attempt", **more: Any) -> dict[str, Any]:
    """A requirement of the header with cells ``(id, rung)``."""
    made = [{"id": cell, "text": f"what {cell} means", "rung": rung, "needs": ["lost-ack"]} for cell, rung in cells]
    base = {
        "id": id_,
        "profile": profile,
        "level": "MUST",
        "core": True,
        "statement": f"What {id_} demands of `state`.",
        "where": "§4 step 9",
        "source": "mutation-profile",
        "cells": made,
    }
    return {**base, **more}


REQUIREMENTS = [
    requirement("AAA-001", ("one", "L0"), ("two", "L1")),
    requirement("AAA-002", ("one", "L0")),
    requirement("AAA-003", ("one", "L0"), ("never", "L1")),
    requirement("BBB-001", ("high", "L2"), profile="key-reservation"),
    requirement("BBB-002", ("ruled-out", "L0"), profile="key-reservation"),
    requirement("BBB-003", ("one", "L0"), profile="key-reservation"),
]
LIFECYCLES = [
    {
        "id": "attempt",
        "title": "One attempt",
        "states": [
            {"name": "Prepared", "meaning": "anchored", "terminal": False},
            {"name": "Dispatching", "meaning": "open", "terminal": False},
            {"name": "Completed", "meaning": "done", "terminal": True},
            {"name": "Aborted", "meaning": "fenced", "terminal": True},
        ],
        "edges": [
            {"from": None, "to": "Prepared", "triggers": ["anchor"]},
            {"from": "Prepared", "to": "Dispatching", "triggers": ["open_gate"]},
            {"from": "Dispatching", "to": "Completed", "triggers": ["settle"]},
            {"from": "Prepared", "to": "Aborted", "triggers": ["abort_on_cancel", "recover"]},
            {"from": "Dispatching", "to": "Prepared", "triggers": ["reopen"]},
        ],
    }
]
TABLES = [
    {
        "id": "outcome",
        "title": "Outcome by gate",
        "rows": [
            {"id": "open", "when": {"gate": ["open"]}, "then": {"state": "Completed"}},
            {"id": "shut", "when": {"gate": ["shut", "fenced"]}, "then": {"state": "Aborted"}},
        ],
    }
]


def header(**more: Any) -> dict[str, Any]:
    """The header; ``more`` replaces members."""
    base: dict[str, Any] = {
        "record": "header",
        "format": 1,
        "suite": "onceproof 0.1.0",
        "spec": "0123456789abcdef" * 4,
        "started": "2026-01-02T03:04:05+00:00",
        "driver": "node driver.js",
        "identity": {
            "name": "tiny",
            "version": "1.2",
            "language": "node",
            "issues": "",
            "families": ["mutation-host"],
            "features": [],
            "rung": "L1",
            "clock": "virtual",
            "readings": {"some-ambiguity": "second"},
        },
        "families": ["mutation-host"],
        "budget": "ci",
        "seed": 0,
        "only": [],
        "scenarios": [],
        "baseline": [],
        "filtered": False,
        "obligations": 1225,
        "planned": 967,
        "unreachable": ["BBB-002/ruled-out"],
        "requirements": REQUIREMENTS,
        "lifecycles": LIFECYCLES,
        "tables": TABLES,
    }
    return {**base, **more}


def schedule(id_: str, **more: Any) -> dict[str, Any]:
    """A schedule that met nothing; ``more`` replaces members."""
    base: dict[str, Any] = {
        "record": "schedule",
        "id": id_,
        "met": {},
        "faults": {"time": 1},
        "missed": [],
        "named": [],
        "problem": None,
        "blame": None,
        "gaps": [],
        "tables": {},
        "looks": "log",
        "transitions": {},
    }
    return {**base, **more}


SCHEDULES = [
    schedule(
        "mutation/invoke",
        met={"AAA-001": {"one": 2, "two": 1}, "BBB-003": {"one": 1}},
        tables={"outcome": {"open": 1202}},
        transitions={"attempt": {">Prepared": 1, "Prepared>Dispatching": 1, "Dispatching>Completed": 1}},
    ),
    schedule("mutation/invoke/w1.gate:commit#1@crash/restart", met={"AAA-002": {"one": 1}}, faults={"crash": 1}),
    schedule(
        "mutation/invoke/remote@status/restart",
        met={"AAA-001": {"one": 1200}, "AAA-002": {"one": 1}, "AAA-003": {"one": 1}},
        faults={"remote status 500": 1, "restart": 1},
        named=["AAA-002"],
        looks="sampled",
        transitions={"attempt": {">Completed": 1}},
    ),
]


def events(*more: dict[str, Any]) -> list[dict[str, Any]]:
    """A history in which w1 sends after it lost the acknowledgement of its gate."""
    request = {"request_id": "q1", "operation": "thing.write", "idempotency_key": "k1", "input": {"marker": "m1"}}
    told: list[dict[str, Any]] = [
        {"class": "suite", "kind": "script", "proc": "", "behaviours": [{"kind": "hold"}]},
        {"class": "suite", "kind": "command", "proc": "w1", "id": 1, "cmd": "host.invoke"}
        | {"args": {"context": CONTEXT, "request": request}},
        {"class": "suite", "kind": "fault", "proc": "w1", "point": "invoke.open_gate:commit"}
        | {"action": "lose-ack", "world": "committed"},
        {"class": "wire", "kind": "connection", "proc": "w1", "conn": 1},
        {"class": "wire", "kind": "request", "proc": "w1", "conn": 1, "read": True, "method": "POST"}
        | {"path": "/effect/thing.write", "marker": "m1", "operation": "thing.write", "problem": None}
        | {"key": None, "digest": "1bfac4ed3bf5b32d"},
        {"class": "rows", "kind": "rows", "proc": "", "why": "end"}
        | {"kinds": {"attempts": [{"attempt": "a-000001", "state": "Dispatching"}]}},
        *more,
    ]
    return [{"seq": seq, **event} for seq, event in enumerate(told)]


def failure(id_: str = "AAA-002", **violation: Any) -> dict[str, Any]:
    """A failure of a requirement, with its trace."""
    judged = {"allowed": "no request of w1", "happened": "w1 connected to the remote", "seq": 3, "evidence": "wire"}
    program = {"id": "mutation/invoke", "family": "mutation-host", "config": {}, "limits": {}}
    program["ops"] = [{"op": "start", "proc": "w1"}]
    trace = {
        "format": 1,
        "requirement": id_,
        "violation": {**judged, **violation},
        "spec": "0123456789abcdef" * 4,
        "driver": "node driver.js",
        "seed": 0,
        "seen": {"failed": 3, "runs": 3},
        "shrunk_from": 12,
        "program": program,
        "history": {"schedule": "mutation/invoke", "family": "mutation-host", "readings": {}, "events": events()},
    }
    return {
        "record": "failure",
        "requirement": id_,
        "stability": "fail",
        "schedules": 1,
        "file": f"runs/latest/{id_}-1.json",
        "trace": trace,
    }


def footer(schedules: int, **more: Any) -> dict[str, Any]:
    """The end of the record."""
    end = {"record": "footer", "records": schedules, "complete": True, "interrupted": False}
    return {**end, "problem": None, "blame": None, "seconds": 1.5, **more}


def records(
    head: dict[str, Any] | None = None,
    schedules: list[dict[str, Any]] | None = None,
    failures: list[dict[str, Any]] | None = None,
    **end: Any,
) -> list[dict[str, Any]]:
    """A whole run."""
    plan: dict[str, Any] = {"record": "plan", "family": "mutation-host", "schedules": 3, "points": 7, "tables": {}}
    plan["out_of_tier"] = [["mutation/paused", "it needs L2"]]
    kept = SCHEDULES if schedules is None else schedules
    failed = [failure()] if failures is None else failures
    # Tests edit what they get.
    return copy.deepcopy([head or header(), plan, *kept, *failed, footer(len(kept), **end)])


def write(folder: Path, made: list[dict[str, Any]]) -> Path:
    """The record as a file in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "run.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in made), encoding="utf-8")
    return path


#: A run in which everything passes.
PASSING = {
    "head": header(requirements=REQUIREMENTS[:2], unreachable=[]),
    "schedules": [
        schedule("mutation/invoke", met={"AAA-001": {"one": 1, "two": 1}, "AAA-002": {"one": 1}}),
    ],
    "failures": [],
}


def passing(**more: Any) -> list[dict[str, Any]]:
    """A conformant run; ``more`` replaces the head, the schedules, the failures, or members of the footer."""
    return records(**{**PASSING, **more})
