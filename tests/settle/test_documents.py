"""Configuration schema, command file and golden edges agree with what the family and the reference do."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from conformance.search.program import Op
from statemachines.model import Lifecycle
from statemachines.spec import load
from tests.settle.runs import FAMILY, history, plan, scripts

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "spec/schema/config.settle-lanes.schema.json").read_text(encoding="utf-8"))
COMMANDS = load().commands["settle-lanes"]
LIFECYCLES = [load().lifecycles[name] for name in ("lane_event", "work_item", "settle_generation")]


def wrong(schema: Any, value: object) -> list[str]:
    return [e.message for e in Draft202012Validator(schema).iter_errors(value)]


def test_the_configurations_of_the_scenarios_are_valid_and_a_bent_one_is_not() -> None:
    config = FAMILY.walk.config
    assert config in [s.config for s in FAMILY.scenarios]
    assert [e for c in (config, *(s.config for s in FAMILY.scenarios)) for e in wrong(SCHEMA, c)] == []
    assert wrong(SCHEMA, {**config, "windows": {"settle_ms": 0, "lease_ms": 1}})
    assert wrong(SCHEMA, {**config, "routes": [{"id": "r", "kinds": ["k"], "mode": "sometimes"}]})


def calls() -> Iterable[Op]:
    ops = [op for s in FAMILY.scenarios for part in (s.ops, s.retry, *s.seconds.values()) for op in part]
    made = [c.make(c.procs[0], which, 3) for c in FAMILY.walk.commands for which in range(3)]
    return (op for op in (*ops, *FAMILY.tail, *made, *FAMILY.walk.closing) if op.op == "call")


def test_every_command_that_is_sent_has_valid_arguments() -> None:
    sent = set()
    for op in calls():
        command = COMMANDS.commands[op.args["cmd"]]
        sent.add(command.name)
        assert command.live
        assert wrong(COMMANDS.closed(command.args), op.args["args"]) == []
    assert sent == {name for name, command in COMMANDS.commands.items() if command.live}


def test_every_answer_and_every_row_of_the_reference_is_as_described() -> None:
    results = {name: Draft202012Validator(COMMANDS.closed(c.result)) for name, c in COMMANDS.commands.items()}
    results["recover"] = Draft202012Validator(COMMANDS.closed(COMMANDS.recovery.result))
    snapshot = Draft202012Validator(COMMANDS.snapshot(load().lifecycles))
    seen = set()
    light = [p for name, p in scripts().items() if name not in ("orders", "orders-reversed", "memberships", "permuted")]
    for program in (*light[::2], *plan().programs[::41]):
        for event in history(program).of("answer", "rows"):
            if event.cls == "rows":
                said = {"source": "store", "kinds": event.data["kinds"]}
                assert [e.message for e in snapshot.iter_errors(said)] == [], program.id
            elif event.data["outcome"] == "done":
                seen.add(event.data["cmd"])
                assert [e.message for e in results[event.data["cmd"]].iter_errors(event.data["result"])] == []
    assert seen >= {"lane.deliver", "lane.load_rows", "lane.claim", "lane.input", "lane.finish", "recover"}


Edge = tuple[str | None, str | None]


def _otherwise(pairs: Iterable[Edge]) -> set[object]:
    """Pairs that are allowed on one side and forbidden on the other."""
    return {(part, pair) for pair in pairs for part in ("allowed", "forbidden")}


# Where the specification decides otherwise than who transcribed the edges from the source without sight of it.
# Stored: rows that an older version left are created ended (Scope Guard, rolling upgrade and trusted-base rows), and
# a sibling whose head is superseded without it waits again, which the source leaves open. Derived: an execution lasts
# from its claim to its end, so a retry or a lost lease is no way back; the transcription goes by the head's row alone.
_LEGACY: set[Edge] = {(None, "processed"), (None, "dead"), (None, "skipped")}
_STORED = _otherwise(_LEGACY | {("skipped", "pending")}) | {("terminal", "skipped")}
DECIDED: dict[str, set[object]] = {
    "lane_event": _STORED,
    "work_item": _STORED,
    "settle_generation": _otherwise({("executing", "open"), ("executing", "due")}),
}


def differences(lc: Lifecycle) -> set[object]:
    """Where a lifecycle and its transcription differ, beside what was decided otherwise."""
    data = yaml.safe_load((ROOT / f"tests/golden/{lc.id}_edges.yaml").read_text(encoding="utf-8"))
    parts = {
        "allowed": (lc.edges, {(row["from"], row["to"]) for row in data["allowed"]}),
        "forbidden": ({p for p in lc.forbidden if p[1] is not None}, {(r["from"], r["to"]) for r in data["forbidden"]}),
        "terminal": (lc.terminal, data["terminal"]),
        "states": (lc.states, data["states"]),
        "initial": ({lc.initial}, {data["initial"]}),
    }
    return {(part, one) for part, (ours, theirs) in parts.items() for one in set(ours) ^ set(theirs)} ^ DECIDED[lc.id]


@pytest.mark.parametrize("lc", LIFECYCLES, ids=lambda lc: lc.id)
def test_lifecycles_agree_with_the_transcription_and_a_bent_edge_is_noticed(lc: Lifecycle) -> None:
    assert differences(lc) == set()
    for edge in lc.edges:
        assert differences(replace(lc, edges=lc.edges - {edge}))
        for dest in lc.states:
            if (edge[0], dest) not in lc.edges:
                assert differences(replace(lc, edges=lc.edges - {edge} | {(edge[0], dest)}))
    for pair in lc.forbidden:
        assert differences(replace(lc, forbidden=lc.forbidden - {pair}))
