"""The verdict: each row of the table of statuses, with its exit code, and what counts more than what."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.verdict import JudgedCell, JudgedRequirement, Standing, Tally, conclude, standings


def requirement(id: str = "R-1", *cells: tuple[str, str]) -> JudgedRequirement:
    """A requirement with cells ``(id, rung)``."""
    made = tuple(JudgedCell(name, rung, ()) for name, rung in cells or (("one", "L0"), ("two", "L2")))
    return JudgedRequirement(id, "p", "MUST", True, "s", "w", "d", made)


def standing(status: str) -> Standing:
    return Standing(requirement(), status, {"one": 1}, 1)


def record(**members: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "id": "s1",
        "met": {},
        "faults": {},
        "missed": [],
        "named": [],
        "problem": None,
        "blame": None,
        "gaps": [],
        "tables": {},
    }
    return {**base, **members}


def tally(*records: dict[str, Any]) -> Tally:
    made = Tally()
    for r in records:
        made.add(r)
    return made


@pytest.mark.parametrize(
    ("statuses", "verdict", "exit"),
    [
        (["fail", "pass"], "not conformant", 1),
        (["uncovered", "pass"], "not conformant", 1),
        (["untestable", "pass"], "not conformant", 1),
        (["unstable", "pass"], "inconclusive", 4),
        (["declared-gap", "pass"], "partial", 0),
        (["known-failure", "pass"], "partial", 0),
        (["pass", "not-applicable", "out-of-tier"], "conformant", 0),
        (["fail", "unstable", "uncovered", "declared-gap"], "not conformant", 1),
        (["uncovered", "unstable"], "not conformant", 1),
        (["unstable", "known-failure"], "inconclusive", 4),
        (["out-of-tier", "not-applicable"], "inconclusive", 4),
        ([], "inconclusive", 4),
    ],
)
def test_the_worst_status_decides(statuses: list[str], verdict: str, exit: int) -> None:
    found = conclude(map(standing, statuses), Tally(), complete=True, budget_covers=True)
    assert (found.verdict, found.exit) == (verdict, exit)
    assert found.why


@pytest.mark.parametrize(("blame", "exit"), [("suite", 5), ("driver", 3)])
@pytest.mark.parametrize("status", ["fail", "unstable", "pass"])
def test_a_problem_leaves_no_verdict_whatever_else_was_seen(blame: str, exit: int, status: str) -> None:
    problems = tally(record(problem="it broke", blame=blame))
    found = conclude([standing(status)], problems, complete=True, budget_covers=True)
    assert (found.verdict, found.exit) == ("none", exit)
    assert found.why == f"the {blame} could not run s1: it broke"


def test_a_problem_of_the_suite_is_worse_than_one_of_the_driver() -> None:
    problems = tally(record(problem="no answer", blame="driver"), record(problem="a bug", blame="suite"))
    found = conclude([], problems, complete=True, budget_covers=True)
    assert found.exit == 5
    assert found.why == "the suite could not run s1: a bug"


def test_a_missed_fault_is_never_a_pass() -> None:
    missed = tally(record(missed=["w1 gate:begin fail"]))
    found = conclude([standing("pass")], missed, complete=True, budget_covers=True)
    assert (found.verdict, found.exit) == ("inconclusive", 4)
    assert "1 scheduled faults did not fire" in found.why


def test_with_missed_faults_nobody_knows_why_a_cell_never_occurred() -> None:
    missed = tally(record(missed=["w1 gate:begin fail"]))
    assert conclude([standing("uncovered")], missed, complete=True, budget_covers=True).exit == 4


@pytest.mark.parametrize("status", ["uncovered", "untestable"])
def test_chosen_scenarios_are_never_blamed_on_the_driver(status: str) -> None:
    found = conclude([standing(status)], Tally(), complete=True, budget_covers=True, narrowed=True)
    assert (found.verdict, found.exit) == ("inconclusive", 4)
    assert "chosen scenarios" in found.why


def test_a_violation_counts_although_faults_were_missed_or_the_run_ended_early() -> None:
    missed = tally(record(missed=["w1 gate:begin fail"]))
    assert conclude([standing("fail")], missed, complete=False, budget_covers=False).exit == 1


def test_a_cell_that_the_driver_kept_out_of_reach_is_not_called_a_violation() -> None:
    found = conclude([standing("untestable")], Tally(), complete=True, budget_covers=True)
    assert found.why == "a cell never occurred, and the driver does not do all that was asked of it"


def test_a_run_that_did_not_end_concludes_nothing_good() -> None:
    for status in ("pass", "uncovered", "declared-gap"):
        found = conclude([standing(status)], Tally(), complete=False, budget_covers=True)
        assert (found.verdict, found.exit) == ("inconclusive", 4)


def test_a_small_budget_does_not_blame_the_driver_for_cells_that_it_does_not_meet() -> None:
    for status in ("uncovered", "untestable"):
        found = conclude([standing(status)], Tally(), complete=True, budget_covers=False)
        assert (found.verdict, found.exit) == ("inconclusive", 4)
    assert conclude([standing("pass")], Tally(), complete=True, budget_covers=False).exit == 0


def status(*records: dict[str, Any], rung: str = "L2", unreachable: tuple[str, ...] = (), stability: str = "") -> str:
    """The status of one requirement with a cell at L0 and one at L2."""
    [found] = standings([requirement()], tally(*records), rung, unreachable, {"R-1": stability} if stability else {})
    return found.status


def met(**cells: int) -> dict[str, Any]:
    return record(met={"R-1": cells})


def test_every_cell_has_to_occur_at_least_once() -> None:
    assert status(met(one=1), met(two=3)) == "pass"
    assert status(met(one=9)) == "uncovered"
    assert status() == "uncovered"


def test_a_cell_above_the_rung_is_out_of_tier() -> None:
    assert status(met(one=1), rung="L0") == "pass"
    assert status(rung="L0") == "uncovered"
    [found] = standings([requirement("R-1", ("two", "L2"))], Tally(), "L1", (), {})
    assert (found.status, found.out_of_tier, found.unmet) == ("out-of-tier", ("two",), ())


def test_a_cell_that_a_reading_rules_out_is_not_applicable() -> None:
    assert status(met(one=1), unreachable=("R-1/two",)) == "pass"
    assert status(unreachable=("R-1/one", "R-1/two")) == "not-applicable"
    assert status(met(one=1), unreachable=("R-9/two",)) == "uncovered", "another requirement's"


def test_a_violation_is_a_failure_unless_its_replays_say_otherwise() -> None:
    broken = record(named=["R-1"], met={"R-1": {"one": 1, "two": 1}})
    assert status(broken) == "fail"
    assert status(broken, stability="unstable") == "unstable"
    assert status(broken, unreachable=("R-1/one", "R-1/two")) == "fail", "seen is seen"


def test_the_tally_adds_up() -> None:
    found = tally(
        record(met={"R-1": {"one": 2}}, faults={"kill": 1}, gaps=["a"]),
        record(met={"R-1": {"one": 1, "two": 1}}, faults={"kill": 2, "fail": 1}, missed=["x", "y"], gaps=["a"]),
        record(named=["R-1"]),
    )
    assert (found.schedules, found.missed) == (3, 2)
    assert found.met == {"R-1": {"one": 3, "two": 1}}
    assert found.exercised_in == {"R-1": 2}
    assert found.faults == {"kill": 3, "fail": 1}
    assert (found.named, found.gaps) == ({"R-1": 1}, {"a"})


def test_only_the_first_missed_faults_are_kept_by_name() -> None:
    found = tally(*(record(id=f"s{n}", missed=[f"p{n}"]) for n in range(9)))
    assert (found.missed, found.first_missed) == (9, [("s0", "p0"), ("s1", "p1"), ("s2", "p2")])
