"""The sweep over a tiny scenario: its schedules are known by name, and nothing that was recorded is left out."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from conformance.kit.seam import POINT_CALLS
from conformance.search import sweep
from conformance.search.execute import Execution
from conformance.search.plan import BUDGETS, make_plan, reduced, spread, stratified, stratum
from conformance.search.process import PAUSABLE
from conformance.search.program import Program, pause_after
from conformance.search.record import Recording, record
from tests.conftest import Snapshot
from tests.machine.tiny import SCENARIO, TINY, arm, brief, carrier, jobs


@pytest.fixture(scope="module")
def material() -> sweep.Material:
    def recording(program: Program) -> Recording:
        return record(program, carrier(), TINY.contract)

    ends = sweep.epilogues(SCENARIO, TINY.tail)
    return sweep.Material(recording(SCENARIO.program()), SCENARIO, ends, recording)


@pytest.fixture(scope="module")
def nightly() -> tuple[Program, ...]:
    return make_plan(TINY, carrier(), "nightly").programs


def test_the_schedules_are_these(nightly: tuple[Program, ...], snapshot: Snapshot) -> None:
    snapshot("tiny_schedules", "".join(f"{p.id}\n" for p in nightly))


def test_every_schedule_has_an_id_of_its_own(nightly: tuple[Program, ...]) -> None:
    assert len({p.id for p in nightly}) == len(nightly)
    assert len({repr(p.ops) for p in nightly}) == len(nightly), "and differs from all others"


def test_a_larger_budget_holds_the_smaller_one(nightly: tuple[Program, ...]) -> None:
    plans = [make_plan(TINY, carrier(), budget).programs for budget in BUDGETS]
    for smaller, larger in pairwise(plans):
        assert {p.id for p in smaller} < {p.id for p in larger}
    assert plans[-1] == nightly


def test_every_recorded_call_meets_every_fault_of_its_kind(material: sweep.Material) -> None:
    made = {
        (op.args["point"], op.args["nth"], op.args["action"], op.args.get("world"))
        for p in sweep.single_faults(material)
        for op in p.ops
        if op.op == "arm"
    }
    for point in material.points:
        allowed = POINT_CALLS[point.point.rpartition(":")[2]]
        wanted: list[tuple[str, str | None]] = [("fail", None)] if "fail" in allowed else []
        wanted += [("lose-ack", "committed"), ("lose-ack", "rolled_back")] if "lose-ack" in allowed else []
        for action, world in wanted:
            assert (point.point, point.nth, action, world) in made
    crashes = {point for point, _, action, _ in made if action == "crash"}
    assert crashes == {"open:commit", "open:committed", "send:answered", "close:commit", "close:committed"}


def test_what_is_not_a_crash_ends_with_and_without_a_restart(material: sweep.Material) -> None:
    ends: dict[str, set[str]] = {}
    for program in sweep.single_faults(material):
        fault, _, end = program.id.rpartition("/")
        ends.setdefault(fault, set()).add(end)
    for fault, seen in ends.items():
        assert seen == ({"restart"} if fault.endswith("@crash") else {"restart", "continue"}), fault


def test_the_second_actor_runs_at_every_point_where_the_first_can_be_paused(material: sweep.Material) -> None:
    made = [p.id for p in sweep.preemptions(material)]
    for point in material.points:
        paused = f"tiny/send/w1.{point.point}#{point.nth}@pause+recover/continue"
        assert (paused in made) == (point.point.rpartition(":")[2] in PAUSABLE)
    assert sum("remote@hold+recover" in name for name in made) == len(sweep.RELEASES)


def test_every_remote_behaviour_is_met(material: sweep.Material) -> None:
    made = [p.id for p in sweep.remote_faults(material)]
    assert {name for name, _ in sweep.REMOTE_FAULTS} <= {name.split("@")[1].split("/")[0] for name in made}
    assert [name for name in made if "kill" in name] == [
        "tiny/send/remote@hold-kill/restart",
        "tiny/send/remote@hold-at-accept-kill/restart",
    ]


def test_a_scenario_without_remote_faults_has_none(material: sweep.Material) -> None:
    quiet = replace(material, scenario=replace(SCENARIO, remote_faults=False))
    assert list(sweep.remote_faults(quiet)) == []


def test_a_scenario_may_ask_for_some_single_faults_only(material: sweep.Material) -> None:
    def struck(wanted: frozenset[str]) -> set[str]:
        some = replace(material, scenario=replace(SCENARIO, strikes=wanted))
        return {p.id.split("@")[1].split("/")[0] for p in sweep.single_faults(some)}

    assert struck(SCENARIO.strikes) > {"crash", "fail"}
    assert struck(frozenset({"crash"})) == {"crash"}
    assert struck(frozenset()) == set()


def test_every_fault_of_the_sweep_strikes(nightly: tuple[Program, ...]) -> None:
    for program in nightly:
        history = Execution(program, carrier(), TINY.contract).run()
        assert [line for line in brief(history, "suite") if line.startswith("missed")] == [], program.id
        armed = [op for op in program.ops if op.op == "arm"]
        struck = [e for e in history.events if e.kind == "fault"]
        assert len(struck) == len(armed), program.id


def test_after_the_epilogue_nothing_is_left_open(nightly: tuple[Program, ...]) -> None:
    for program in nightly:
        history = Execution(program, carrier(), TINY.contract).run()
        assert "Open" not in jobs(history).values(), program.id


def test_a_fault_carries_the_moves_of_its_call_as_evidence(material: sweep.Material) -> None:
    [program] = [p for p in sweep.single_faults(material) if p.id.endswith("close:commit#1@crash/restart")]
    [op] = [op for op in program.ops if op.op == "arm"]
    assert op.args["changes"] == [["job", "Open", "Done"]]


def test_a_scenario_above_the_rung_is_listed_with_the_reason() -> None:
    impossible = replace(SCENARIO, id="tiny/never", ops=(pause_after("w1", "job", "Done", "Open"), *SCENARIO.ops))
    plan = make_plan(replace(TINY, scenarios=(impossible, SCENARIO)), carrier(), "quick")
    [(scenario, why)] = plan.out_of_tier
    assert (scenario, "brings a job from Done to Open" in why) == ("tiny/never", True)
    assert [p.id for p in plan.programs] == ["tiny/send"]


def test_the_sample_takes_from_every_kind_of_fault(nightly: tuple[Program, ...]) -> None:
    sample = stratified(nightly, 1)
    assert 0 < len(sample) < len(nightly)
    assert stratified(nightly, 1) == sample
    faults = [{word for p in some for word in re.findall(r"@([a-z_-]+)", p.id)} for some in (nightly, sample)]
    assert faults[0] == faults[1] != set()


def test_a_fault_is_armed_right_after_the_start_of_its_process(material: sweep.Material) -> None:
    for program in sweep.single_faults(material):
        assert [op.op for op in program.ops[:2]] == ["start", "arm"]
    assert arm("w1", "x:begin", "fail").proc == "w1"


def test_a_spread_beginning_knows_every_part_of_the_whole(nightly: tuple[Program, ...]) -> None:
    ordered = spread(nightly)
    assert sorted(p.id for p in ordered) == sorted(p.id for p in nightly)
    strata = {stratum(p) for p in nightly}
    assert {stratum(p) for p in ordered[: len(strata)]} == strata


def test_a_reduced_budget_has_every_scenario_and_leaves_the_rest_for_later(nightly: tuple[Program, ...]) -> None:
    first, rest = reduced(nightly, [SCENARIO.id], 10)
    assert SCENARIO.id in {p.id for p in first}
    assert 10 <= len(first) <= 11
    assert sorted(p.id for p in (*first, *rest)) == sorted(p.id for p in nightly)


def test_an_outage_lasts_from_a_commit_until_the_process_ends(material: sweep.Material) -> None:
    assert list(sweep.outages(material)) == [], "few scripts ask for one"
    down = replace(material, scenario=replace(SCENARIO, strikes=SCENARIO.strikes | {"outage"}))
    made = list(sweep.outages(down))
    assert {p.id.split("@")[1] for p in made} == {
        "fail+outage/restart",
        "lose-ack-committed+outage/restart",
        "lose-ack-rolled_back+outage/restart",
    }
    for program in made:
        history = Execution(program, carrier(), TINY.contract).run()
        faults = [e for e in history.events if e.kind == "fault"]
        assert faults[0].data["outage"] is True, program.id
        assert {e.data["action"] for e in faults[1:]} <= {"fail"}, program.id
        assert not [e for e in history.events if e.kind == "missed"], program.id
        assert "Open" not in jobs(history).values(), "the next process finds the store in order"
