"""The commands of each family: what the suite sends fits them, and so does every configuration that it uses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from jsonschema import Draft202012Validator

from conformance.families import FAMILIES
from conformance.schemas import schema
from conformance.search.program import Op
from statemachines.spec import load

SPEC = load()
SHARED = [family for family in FAMILIES if family in SPEC.commands]


def _ops(family: str) -> Iterator[tuple[str, Op]]:
    """Every op, with the scenario that it is of; what all share has none."""
    made = FAMILIES[family]
    for scenario in made.scenarios:
        every = (*scenario.ops, *scenario.retry, *(op for ops in scenario.seconds.values() for op in ops))
        yield from ((scenario.id, op) for op in every)
    yield from (("", op) for op in _shared(family))


def _shared(family: str) -> Iterator[Op]:
    made = FAMILIES[family]
    yield from made.tail
    yield from made.walk.closing
    yield from (command.make(command.procs[0], which, 7) for command in made.walk.commands for which in range(3))


def test_the_mutation_host_has_its_commands() -> None:
    host = SPEC.commands["mutation-host"]
    live = [name for name, command in host.commands.items() if command.live]
    assert live == ["host.invoke", "host.cancel", "host.housekeep", "host.describe"]
    assert list(host.rows) == ["attempts", "reservations", "spends", "diagnostics", "status_log"]


@pytest.mark.parametrize("family", SHARED)
def test_every_command_of_every_scenario_fits_its_schema(family: str) -> None:
    described = SPEC.commands[family]
    sent = [(scenario, op) for scenario, op in _ops(family) if op.op == "call"]
    assert sent
    for scenario, op in sent:
        command = described.commands[str(op.args["cmd"])]
        assert command.live
        faults = Draft202012Validator(dict(described.closed(command.args))).iter_errors(op.args["args"])
        # Where a scenario is about refusing bad requests, the request is broken on purpose, and nothing but it.
        broken = scenario.startswith(("precedence/", "admission/refusals"))
        assert [e.message for e in faults if not broken or "request" not in e.absolute_path] == []


@pytest.mark.parametrize("family", SHARED)
def test_every_configuration_fits_its_schema(family: str) -> None:
    check = Draft202012Validator(dict(schema(SPEC.commands[family].config)))
    configs = [scenario.config for scenario in FAMILIES[family].scenarios]
    configs += [op.args["config"] for _, op in _ops(family) if op.op == "start" and "config" in op.args]
    for config in (*configs, FAMILIES[family].walk.config):
        assert [error.message for error in check.iter_errors(config)] == []
    assert not check.is_valid({**configs[0], "colour": "red"})


@pytest.mark.parametrize("family", [name for name in SHARED if SPEC.commands[name].limits_used])
def test_the_limits_that_schedules_go_past_are_those_that_the_page_says(family: str) -> None:
    seconds = {op.args["ms"] / 1000 for _, op in _ops(family) if op.op == "time"}
    values = sorted(SPEC.limits[name] for name in SPEC.commands[family].limits_used)
    # The longest time goes past everything: what counts is that each limit has a time of its own just behind it.
    assert [min(s for s in seconds if s > value) - value < 120 for value in values] == [True] * len(values)
    assert len(values) == len({s for s in seconds if s > 1})


def test_the_schema_of_rows_knows_every_state() -> None:
    host = SPEC.commands["mutation-host"]
    rows = host.snapshot(SPEC.lifecycles)["properties"]["kinds"]["properties"]
    assert rows["attempts"]["items"]["properties"]["state"]["enum"] == list(SPEC.lifecycles["mutation_attempt"].states)
    log = rows["status_log"]["items"]["properties"]
    assert log["entity"]["enum"] == ["mutation_attempt", "key_reservation", "approval"]
    assert None in log["from_state"]["enum"]
    assert {"Prepared", "Quarantined"} <= set(log["to_state"]["enum"])
