"""The configuration schema, the command file and the golden edges agree with what the family and the reference do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from conformance.families.connector_push import config as configs
from conformance.families.connector_push.scenarios import SCENARIOS, TAIL
from conformance.search.program import Op
from statemachines.model import Lifecycle
from statemachines.spec import load
from tests.push.runs import history, plan

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "spec/schema/config.connector-push.schema.json").read_text(encoding="utf-8"))
FAMILY = load().commands["connector-push"]
LINK, ATTEMPT = (load().lifecycles[name] for name in ("remote_link", "create_attempt"))


def every_config() -> list[Any]:
    starts = [op.args["config"] for s in SCENARIOS for op in s.ops if op.op == "start" and "config" in op.args]
    return [*(s.config for s in SCENARIOS), *starts, configs.ROTATED]


def surfaces(node: object) -> set[int]:
    if isinstance(node, dict):
        return set(node.get("x-surfaces", ())).union(*(surfaces(value) for value in node.values()))
    if isinstance(node, list):
        return set().union(*(surfaces(value) for value in node))
    return set()


def test_every_configuration_of_the_scenarios_is_valid() -> None:
    validator = Draft202012Validator(SCHEMA)
    assert [error.message for config in every_config() for error in validator.iter_errors(config)] == []


def test_a_configuration_with_an_unknown_member_is_not() -> None:
    assert not Draft202012Validator(SCHEMA).is_valid({**configs.CONFIG, "vendor": "x"})


def test_every_surface_of_the_drift_matrix_has_its_place() -> None:
    elsewhere = {int(number) for number in SCHEMA["x-surfaces-elsewhere"]}
    assert surfaces(SCHEMA) | elsewhere == set(range(1, 28))


def calls() -> list[Op]:
    ops = [op for s in SCENARIOS for part in (s.ops, s.retry, *s.seconds.values()) for op in part]
    return [op for op in (*ops, *TAIL) if op.op == "call"]


def test_every_command_of_the_scenarios_has_valid_arguments() -> None:
    for op in calls():
        command = FAMILY.commands[op.args["cmd"]]
        assert command.live
        assert [e.message for e in Draft202012Validator(FAMILY.closed(command.args)).iter_errors(op.args["args"])] == []


def test_every_answer_and_every_row_of_the_reference_is_as_described() -> None:
    results = {name: Draft202012Validator(FAMILY.closed(c.result)) for name, c in FAMILY.commands.items()}
    results["recover"] = Draft202012Validator(FAMILY.closed(FAMILY.recovery.result))
    snapshot = Draft202012Validator(FAMILY.snapshot(load().lifecycles))
    seen = set()
    for program in plan().programs[::29]:
        for event in history(program).of("answer", "rows"):
            if event.cls == "rows":
                said = {"source": "store", "kinds": event.data["kinds"]}
                assert [e.message for e in snapshot.iter_errors(said)] == [], program.id
            elif event.data["outcome"] == "done":
                seen.add(event.data["cmd"])
                wrong = results[event.data["cmd"]].iter_errors(event.data["result"])
                assert [e.message for e in wrong] == [], program.id
    assert seen >= {"push.write_record", "push.delete_record", "push.trigger", "push.work", "push.operate", "recover"}


def golden(lc: Lifecycle) -> dict[str, Any]:
    data = yaml.safe_load((ROOT / f"tests/golden/{lc.id}_edges.yaml").read_text(encoding="utf-8"))
    assert isinstance(data, dict)
    return data


def differences(lc: Lifecycle) -> set[object]:
    """Where a lifecycle and its blind transcription differ; contested rows decide nothing."""
    data = golden(lc)
    allowed = {(row["from"], row["to"]) for row in data["allowed"]}
    never = {(row["from"], row["to"]) for row in data["forbidden"]}
    contested = {(row["from"], row["to"]) for row in data.get("contested", ())}
    moves = {(row["from"], row["to"]) for row in data.get("commit_pending_moves", ())}
    prose = set(data.get("prose_states", ()))
    mine = {edge for edge in lc.edges if not prose & set(edge)}
    prose_edges = {edge for edge in lc.edges if prose & set(edge)}
    found: set[object] = (mine ^ allowed) - contested
    found |= prose_edges ^ moves
    found |= {pair for pair in lc.forbidden if pair in allowed | moves}
    # Staying in a state is no transition here, and removal of a row is not in the transcription.
    wanted = {pair for pair in never if pair[0] != pair[1]}
    named = {pair for pair in lc.forbidden if pair[1] is not None and not prose & set(pair)}
    found |= wanted - named | named - wanted - contested
    found |= {
        (row["from"], row["to"]) for row in data.get("commit_pending_never", ()) if "by" not in row
    } - lc.forbidden
    found |= set(lc.states) ^ {*data.get("states", ()), *data.get("table_states", ()), *prose}
    return found | occupation(lc, data) | {lc.initial} ^ {data["initial"]}


def occupation(lc: Lifecycle, data: dict[str, Any]) -> set[object]:
    mine = {name for name, state in lc.states.items() if state.occupies}
    slot = data["groups"]["occupies_create_slot"] if "groups" in data else None
    theirs = {*slot["states"], *slot["prose_states"]} if slot else set(data["uniqueness"][0]["among"])
    return set(mine ^ theirs)


@pytest.mark.parametrize("lc", [LINK, ATTEMPT], ids=lambda lc: lc.id)
def test_lifecycles_agree_with_the_blind_transcription(lc: Lifecycle) -> None:
    assert differences(lc) == set()


@pytest.mark.parametrize("lc", [LINK, ATTEMPT], ids=lambda lc: lc.id)
def test_a_lost_or_bent_edge_is_noticed(lc: Lifecycle) -> None:
    contested = {(row["from"], row["to"]) for row in golden(lc).get("contested", ())}
    for edge in lc.edges:
        assert differences(replace(lc, edges=lc.edges - {edge}))
        for dest in lc.states:
            bent = (edge[0], dest)
            if bent not in lc.edges | contested:
                assert differences(replace(lc, edges=lc.edges - {edge} | {bent}))
    for pair in lc.forbidden:
        if pair[1] is not None and pair not in contested and "writeback_commit_pending" not in pair:
            assert differences(replace(lc, forbidden=lc.forbidden - {pair}))


def test_lease_recovery_is_as_transcribed() -> None:
    moves = {(t.trigger, t.source, t.dest) for t in ATTEMPT.transitions}
    for row in golden(ATTEMPT)["lease_recovery"]:
        if row["to"] is None:
            continue
        trigger = "recover_unsent" if row["remote_io_started"] is False else "recover_sent"
        assert (trigger, row["state"], row["to"]) in moves
