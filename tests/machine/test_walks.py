"""Random walks: what they find is an ordinary program that fails again without Hypothesis."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.carriers.base import DriverProblem
from conformance.outcome import run_schedule
from conformance.search.execute import Execution
from conformance.search.failures import investigate
from conformance.search.plan import Plan, make_plan
from conformance.search.program import Op, Program, start
from conformance.search.walk import WalkResult, blocks, walk
from conformance.search.walk import walks as walk_blocks
from tests.machine.tiny import TINY, TinyTwice, carrier, send, walks


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(TINY, carrier(), "ci")


@pytest.fixture(scope="module")
def found(plan: Plan) -> list[WalkResult]:
    return [w for w in walks(plan, TinyTwice, examples=40) if w.outcome.violations]


def test_a_right_implementation_walks_without_a_violation(plan: Plan) -> None:
    outcomes = [w.outcome for w in walks(plan, examples=15)]
    assert len(outcomes) >= 15, "Hypothesis may take a few more"
    assert [o for o in outcomes if o.violations or o.problem or o.missed] == []


def test_a_planted_fault_is_found(found: list[WalkResult]) -> None:
    assert found
    assert all(w.outcome.named == ("TINY-1",) for w in found)


def test_what_was_found_fails_again_as_an_ordinary_program(
    found: list[WalkResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [n for n in sys.modules if n.partition(".")[0] == "hypothesis"]:
        monkeypatch.setitem(sys.modules, name, None)
    result = found[0]
    again = run_schedule(TINY, Program.from_json(result.program.to_json()), carrier(TinyTwice), {})
    assert again.named == ("TINY-1",)
    assert run_schedule(TINY, result.program, carrier(), {}).violations == {}, "the right one passes it"


def test_a_walk_is_shrunk_like_everything_else(found: list[WalkResult]) -> None:
    longest = max(found, key=lambda w: len(w.program.ops)).program
    failure = investigate(TINY, longest, carrier(TinyTwice), "TINY-1", {})
    assert (failure.failed, failure.stability) == (3, "fail")
    assert len(failure.program.ops) < len(longest.ops)


def test_walks_do_not_depend_on_what_else_is_loaded(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [w.program for w in walks(plan, examples=400)]
    source = tmp_path / "numbers_of_somebody.py"
    source.write_text(f"NUMBERS = {list(range(1, 255))}\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(source.stem, source)
    assert spec is not None
    monkeypatch.setitem(sys.modules, source.stem, importlib.util.module_from_spec(spec))
    assert [w.program for w in walks(plan, examples=400)] == before


def test_every_walk_ends_with_the_familys_closing(plan: Plan) -> None:
    for result in walks(plan, seed=3, examples=4):
        kinds = [op.op for op in result.program.ops]
        assert kinds[-1] == "snapshot"
        assert {"restart", "free"} & set(kinds)


def test_a_driver_that_fails_on_the_way_is_a_problem_of_that_walk(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    do = Execution.do

    def failing(self: Execution, op: Op) -> None:
        if op.op == "arm":
            raise DriverProblem("it went away")
        do(self, op)

    monkeypatch.setattr(Execution, "do", failing)
    results = walks(plan, examples=8)
    broken = [w.outcome for w in results if w.outcome.problem]
    assert len(results) >= 8
    assert broken
    assert {(o.problem, o.blame) for o in broken} == {("it went away", "driver")}


def test_an_interrupt_passes_through(plan: Plan) -> None:
    seen: list[WalkResult] = []

    def take(result: WalkResult) -> None:
        seen.append(result)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        walk(TINY, carrier(), plan, 0, 10, {}, take)
    assert len(seen) == 3


def test_blocks_cover_the_number_asked_for_and_do_not_grow_without_end() -> None:
    for examples in (1, 49, 50, 51, 300, 3_000, 100_000):
        sizes = blocks(examples)
        assert sum(sizes) == examples
        assert max(sizes) <= 500, "a block is held in memory whole"
    assert blocks(0) == ()


def test_walks_are_the_same_from_any_number_of_processes(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.search.walk.blocks", lambda examples: (examples // 3,) * 3)
    alone, spread = (list(walk_blocks(TINY, carrier, plan, 5, 12, {}, jobs)) for jobs in (1, 2))
    assert alone == spread
    ids = [found.program.id for taken, _ in alone for found in taken]
    assert len(ids) == len(set(ids)) >= 12


def test_a_family_s_configurations_and_opening_occur(plan: Plan) -> None:
    opening = (start("w1"), send("w1", "first"))
    configs = {"other": {"family": "tiny", "other": 1}}
    family = replace(TINY, walk=replace(TINY.walk, opening=opening, configs=configs))
    taken: list[WalkResult] = []
    reached = walk(family, carrier(), plan, 0, 40, {}, taken.append)
    assert reached.chosen["configure other"]
    begun = sum(w.program.ops[:2] == opening for w in taken)
    assert 10 <= begun <= 30, "half of the walks, more or less"
