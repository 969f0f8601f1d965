"""The published schemas hold for what the suite really says, hears and writes, and refuse it when it is mutilated."""

from __future__ import annotations

import copy
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.carriers.conversation import EVENTS, OUTCOMES
from conformance.carriers.inprocess import InProcessCarrier
from conformance.families import FAMILIES
from conformance.history import CLASSES
from conformance.kit.engine import Engine
from conformance.kit.seam import POINT_CALLS
from conformance.remote.script import BEHAVIOURS
from conformance.report.write import render
from conformance.run import run
from conformance.schemas import PUBLISHED, part, problems, schema
from conformance.scope import Options
from conformance.search.execute import Execution
from conformance.search.plan import make_plan
from conformance.search.program import OPS
from conformance.verdict import STATUSES
from reference_impl.registry import implementation

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from protocol_examples import TapedCarrier

FAMILY = FAMILIES["mutation-host"]


class _Quiet:
    """A progress that nobody watches."""

    def phase(self, name: str, total: int) -> None: ...
    def step(self, outcome: Any) -> None: ...
    def finished(self) -> None: ...


@pytest.fixture(scope="module")
def said() -> dict[str, list[Any]]:
    """Messages and history events of a recording and of a sample of the sweep, each kind many times."""
    carrier = TapedCarrier(InProcessCarrier("reference", implementation("reference")))
    plan = make_plan(FAMILY, carrier, "ci")
    events: list[Any] = []
    for program in (*plan.programs[:20], *plan.programs[::23]):
        history = Execution(program, carrier, FAMILY.contract).run()
        events += [event.to_json() for event in history.events]
    messages = [message for _, _, message in carrier.tape.lines]
    return {"message": _kinds(messages), "event": _kinds(events)}


def _kinds(values: list[Any]) -> list[Any]:
    """The first three of every kind, as JSON would carry them."""
    found: dict[str, list[Any]] = {}
    for value in values:
        kind = str([value.get(k) for k in ("cmd", "event", "outcome", "class", "kind")])
        found.setdefault(kind, []).append(value)
    return [json.loads(json.dumps(value)) for some in found.values() for value in some[:3]]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Run records, the report and a trace of a run that fails."""
    out = tmp_path_factory.mktemp("run")
    path = run(Options(driver="reference+send-before-gate", budget="quick", only=(), out=out), _Quiet())
    render(path)
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    traces = [json.loads(file.read_text(encoding="utf-8")) for file in out.glob("*-1.json")]
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    return {"run-record": records, "trace": traces, "report": [report]}


@pytest.mark.parametrize("name", ["message", "event"])
def test_everything_said_fits_its_schema(said: dict[str, list[Any]], name: str) -> None:
    assert len(said[name]) > 30
    for value in said[name]:
        assert problems(name, value) == [], value


@pytest.mark.parametrize("name", ["run-record", "trace", "report"])
def test_everything_written_fits_its_schema(written: dict[str, list[Any]], name: str) -> None:
    assert written[name]
    for value in written[name]:
        assert problems(name, value) == []


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_mutilated_one_does_not(said: dict[str, list[Any]], written: dict[str, list[Any]], name: str) -> None:
    for value in {**said, **written}[name]:
        assert problems(name, {**value, "colour": "red"}) != []
        chance = random.Random(str(value)[:200])
        mutilated = copy.deepcopy(value)
        del mutilated[chance.choice([key for key in value if key in _needed(name)])]
        assert problems(name, mutilated) != [], mutilated


def _needed(name: str) -> set[str]:
    """Members without which nothing of this kind is valid."""
    whole = schema(name)
    if "required" in whole:
        return set(whole["required"])
    return {"message": {"id", "event"}, "event": {"seq", "class", "kind", "proc"}, "run-record": {"record"}}[name]


def test_the_schema_of_messages_is_what_the_suite_checks() -> None:
    for event, members in EVENTS.items():
        described = part("message", event)
        assert set(described["properties"]) == {"event", *members} == set(described["required"])
    for outcome, members in OUTCOMES.items():
        described = part("message", outcome)
        assert set(described["properties"]) == {"id", "outcome", *members} == set(described["required"])
    actions = {action for allowed in POINT_CALLS.values() for action in allowed}
    assert set(part("message", "fired")["properties"]["action"]["enum"]) == actions
    verbs = {name.removeprefix("_on_") for name in vars(Engine) if name.startswith("_on_")}
    assert {ref["$ref"].rpartition("/")[2] for ref in part("message", "request")["anyOf"]} == verbs


def test_the_vocabularies_of_the_schemas_are_those_of_the_code() -> None:
    event = schema("event")
    assert set(event["$defs"]["behaviour"]["properties"]["kind"]["enum"]) == set(BEHAVIOURS)
    kinds = [event["$defs"][ref["$ref"].rpartition("/")[2]] for ref in event["anyOf"]]
    assert {kind["properties"]["class"]["const"] for kind in kinds} == CLASSES
    ops = schema("trace")["$defs"]["program"]["properties"]["ops"]["items"]["properties"]["op"]["enum"]
    assert set(ops) == set(OPS) - {"arm-effect"}
    standing = schema("report")["properties"]["requirements"]["items"]["properties"]
    assert tuple(standing["status"]["enum"]) == STATUSES
