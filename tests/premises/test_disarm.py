"""A cell occurs when its faults are armed and not when they are taken away: no premise is dead or loose."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

import pytest

from conformance.carriers.inprocess import InProcessCarrier
from conformance.families.mutation_host import MUTATION_HOST
from conformance.families.mutation_host.scenarios import CONFIG, cancel, invoke
from conformance.outcome import Outcome, run_schedule
from conformance.search.disarm import disarm
from conformance.search.plan import Plan, make_plan
from conformance.search.program import FREE, RESTART, Op, Program, kill, recover, release, script, start, time
from reference_impl.driver import Reference
from statemachines.spec import load

FAMILY = MUTATION_HOST
LIVE = (r for r in load().requirements.values() if r.status == "live" and r.id in FAMILY.checkers)
CELLS = {f"{r.id}/{c.id}": c for r in LIVE for c in r.cells}
FAULTS = sorted({fault for cell in CELLS.values() for fault in cell.needs})
#: Faults that share their mechanism: taking one away may take cells of its relatives along, and of nobody else.
RELATED = (
    {"cancel", "concurrent-caller", "concurrent-worker", "stale-writer"},
    {"metadata-drift", "access-revoked", "credential-rotation"},
    {"storage-unavailable", "terminal-write-failure"},
    {"crash-before-commit", "crash-after-commit", "crash-before-send", "crash-after-send", "restart"},
)
PAUSE = Op("arm", {"proc": "w1", "point": "invoke.open_gate:begin", "nth": 1, "action": "pause"})
RESUME = Op("resume", {"proc": "w1"})
CALL = (start("w1"), invoke("w1", "q1", "m1", "k1"))


class Runs:
    """Runs programs of one plan, each sequence of ops once: it is deterministic, and many are equal once disarmed."""

    def __init__(self) -> None:
        self.carrier = InProcessCarrier("reference", Reference)
        self.plan: Plan = make_plan(FAMILY, self.carrier, "ci")
        self._known: dict[str, Outcome] = {}

    def rows(self, programs: Iterable[Program]) -> set[str]:
        """The rows of tables that were exercised."""
        found = (self._run(program).tables for program in programs)
        return {f"{table}/{row}" for tables in found for table, rows in tables.items() for row in rows}

    def cells(self, programs: Iterable[Program]) -> Counter[str]:
        total: Counter[str] = Counter()
        for program in programs:
            for requirement, met in self._run(program).met.items():
                total.update({f"{requirement}/{cell}": count for cell, count in met.items()})
        return total

    def _run(self, program: Program) -> Outcome:
        key = json.dumps([program.config, [op.to_json() for op in program.ops]], sort_keys=True)
        if key not in self._known:
            outcome = run_schedule(FAMILY, program, self.carrier, {})
            assert outcome.problem is None
            assert not outcome.violations
            self._known[key] = outcome
        return self._known[key]


@pytest.fixture(scope="module")
def runs() -> Runs:
    return Runs()


def test_with_the_faults_armed_every_cell_occurs(runs: Runs) -> None:
    met = runs.cells(runs.plan.programs)
    assert [cell for cell in CELLS if not met[cell]] == []
    assert set(met) <= set(CELLS), "a checker meets a cell that no requirement has"


def test_every_row_of_a_covered_table_is_exercised(runs: Runs) -> None:
    assert FAMILY.tables is not None
    expected = {f"{table}/{row}" for table, rows in FAMILY.tables().items() for row in rows}
    assert runs.rows(runs.plan.programs) == expected


@pytest.mark.parametrize("fault", FAULTS)
def test_without_its_fault_a_cell_does_not_occur(runs: Runs, fault: str) -> None:
    met = runs.cells(disarm(program, {fault}, FAMILY.roles) for program in runs.plan.programs)
    mine = {cell for cell, spec in CELLS.items() if fault in spec.needs}
    assert {cell: met[cell] for cell in mine if met[cell]} == {}
    related = {fault}.union(*(group for group in RELATED if fault in group))
    gone = {cell for cell in CELLS if not met[cell]}
    assert {cell for cell in gone - mine if not related & set(CELLS[cell].needs)} == set()


def program(*ops: Op) -> Program:
    return Program("p", FAMILY.id, CONFIG, ops, {})


def without(fault: str, *ops: Op) -> tuple[Op, ...]:
    return disarm(program(*ops), {fault}, FAMILY.roles).ops


def arm(point: str, action: str, *changes: tuple[str, str | None, str]) -> Op:
    return Op("arm", {"proc": "w1", "point": point, "nth": 1, "action": action, "changes": [list(c) for c in changes]})


def test_a_program_without_the_fault_stays_itself() -> None:
    plain = program(*CALL, RESTART)
    assert disarm(plain, {"lost-ack"}, FAMILY.roles) is plain


def test_an_armed_fault_is_left_out() -> None:
    lost = arm("invoke.open_gate:commit", "lose-ack")
    assert without("lost-ack", lost, *CALL) == CALL
    assert without("crash-before-commit", lost, *CALL) == (lost, *CALL)


def test_only_a_write_that_settles_is_a_terminal_write() -> None:
    gate = arm("x:commit", "fail", ("mutation_attempt", "Prepared", "Dispatching"))
    settle = arm("y:commit", "fail", ("mutation_attempt", "Dispatching", "Completed"))
    assert without("terminal-write-failure", gate, settle, *CALL) == (gate, *CALL)
    assert without("storage-unavailable", gate, settle, *CALL) == CALL


def test_a_bad_answer_becomes_a_success_in_its_place() -> None:
    ops = without("response-lost", script("apply-then-drop", "malformed"), *CALL, release("w1", "apply-then-drop"))
    assert ops == (script("success", "malformed"), *CALL, release("w1", "success"))


def test_a_process_that_is_not_killed_runs_to_its_end() -> None:
    assert without("restart", *CALL, kill("w1"), RESTART) == (*CALL, FREE, FREE)


def test_a_kill_counts_by_what_the_remote_has_read() -> None:
    read, unread = (script("hold"), *CALL, kill("w1")), (script("hold-at-accept"), *CALL, kill("w1"))
    assert without("crash-after-send", *read)[-1] == FREE
    assert without("crash-after-send", *unread) == unread
    assert without("crash-before-send", *unread)[-1] == FREE


def test_a_pause_goes_only_when_somebody_acts_in_it() -> None:
    cancelled = (PAUSE, *CALL, start("c1"), cancel("c1", "q1"), RESUME)
    recovered = (PAUSE, *CALL, start("r1"), recover("r1"), RESUME)
    assert PAUSE not in without("stale-writer", *cancelled)
    assert PAUSE not in without("concurrent-worker", *recovered)
    assert PAUSE in without("concurrent-worker", *cancelled)
    assert PAUSE in without("stale-writer", PAUSE, *CALL, time(30_000), RESUME)


def test_a_held_request_is_an_overlap_too() -> None:
    ops = (script("hold"), *CALL, start("w2"), invoke("w2", "q2", "m1", "k1"), release("w1"))
    assert without("concurrent-caller", *ops)[0] == script("success")
    assert without("concurrent-worker", *ops) == ops


def test_a_deadline_is_time_that_passes_while_a_command_stands_still() -> None:
    ops = (PAUSE, *CALL, time(30_000), RESUME, time(90_000_000))
    assert without("deadline", *ops) == (PAUSE, *CALL, RESUME, time(90_000_000))


def test_a_cancel_is_known_by_the_family() -> None:
    ops = (*CALL, start("c1"), cancel("c1", "q1"))
    assert without("cancel", *ops) == (*CALL, start("c1"))


def test_a_fault_that_no_op_makes_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="'file-corrupt' is realised by no op of a program of this family"):
        without("file-corrupt", *CALL)
