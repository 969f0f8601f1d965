"""Second actors at calls that cannot be paused, and a store that goes down at a read: both only where a script asks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from conformance.carriers.inprocess import InProcessCarrier
from conformance.families.mutation_host import MUTATION_HOST
from conformance.search.execute import Execution
from conformance.search.plan import make_plan
from conformance.search.program import Op, Program
from conformance.search.scenario import Scenario
from reference_impl.driver import Reference

CARRIER = InProcessCarrier("reference", Reference)
SCENARIOS = {s.id: s for s in MUTATION_HOST.scenarios}


@cache
def programs(name: str, stalls: bool) -> tuple[Program, ...]:
    scenario: Scenario = SCENARIOS[name]
    chosen = scenario if stalls else replace(scenario, stalls=frozenset(), strikes=frozenset())
    return make_plan(replace(MUTATION_HOST, scenarios=(chosen,)), CARRIER, "ci").programs


def arms(program: Program) -> list[Op]:
    return [op for op in program.ops if op.op == "arm"]


def test_a_stall_hangs_at_a_clock_read_and_goes_on() -> None:
    more = {p.id for p in programs("mutation/recheck-late-winner", True)}
    more -= {p.id for p in programs("mutation/recheck-late-winner", False)}
    assert more
    assert all(":clock#" in name and "@hang+winner" in name for name in more)
    for program in programs("mutation/recheck-late-winner", True):
        if program.id in more:
            history = Execution(program, CARRIER, MUTATION_HOST.contract).run()
            assert not [e for e in history.of("suite") if e.kind == "missed"]
            answers = [e for e in history.of("answer") if e.proc == "w1"]
            assert [e.data["outcome"] for e in answers] == ["done"]


@pytest.mark.parametrize("name", ["mutation/recheck-unreadable", "mutation/recheck-unreadable-held"])
def test_a_blackout_fails_at_a_read_and_lasts(name: str) -> None:
    dark = [p for p in programs(name, True) if "+outage" in p.id]
    assert dark
    for program in dark:
        (arm,) = arms(program)
        assert arm.args["point"].endswith(":read")
        assert arm.args["action"] == "fail"
        assert "outage" in arm.args
    assert not [p for p in programs(name, False) if "+outage" in p.id]
