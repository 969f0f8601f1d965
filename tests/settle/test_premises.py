"""A cell of settle lanes occurs when its faults are armed and not when they are taken away."""

from __future__ import annotations

import pytest

from conformance.outcome import weigh
from conformance.search.disarm import disarm
from conformance.search.program import FREE, Op, Program, kill, start, time
from tests.settle.runs import CELLS, FAMILY, cells, history, outcomes

FAULTS = sorted({fault for cell in CELLS.values() for fault in cell.needs})
#: Faults that share their mechanism: taking one away may take cells of its relatives along, and of nobody else.
RELATED = (
    {"crash-before-commit", "crash-after-commit"},
    {"lease-expiry", "concurrent-worker", "crash-before-commit", "crash-after-commit"},
)


def test_the_reference_passes_and_every_cell_occurs() -> None:
    found = outcomes()
    assert [(p.id, o.problem, o.missed) for p, o in found if o.problem or o.missed] == []
    assert [(p.id, o.named) for p, o in found if o.named] == []
    met = cells(o for _, o in found)
    assert [cell for cell in CELLS if not met[cell]] == []
    assert set(met) <= set(CELLS), "a checker meets a cell that no requirement has"


def test_every_row_of_the_table_of_modes_is_exercised() -> None:
    assert FAMILY.tables is not None
    expected = {(table, row) for table, rows in FAMILY.tables().items() for row in rows}
    assert {(table, row) for _, o in outcomes() for table, rows in o.tables.items() for row in rows} == expected


@pytest.mark.parametrize("fault", FAULTS)
def test_without_its_fault_a_cell_does_not_occur(fault: str) -> None:
    changed = []
    for program, outcome in outcomes():
        disarmed = disarm(program, {fault}, FAMILY.roles, FAMILY.instead)
        changed.append(outcome if disarmed is program else weigh(FAMILY, history(disarmed), {}))
    assert [o.schedule for o in changed if o.named] == []
    met = cells(changed)
    mine = {cell for cell, spec in CELLS.items() if fault in spec.needs}
    assert {cell: met[cell] for cell in mine if met[cell]} == {}
    related = {fault}.union(*(group for group in RELATED if fault in group))
    gone = {cell for cell in CELLS if not met[cell]}
    assert {cell for cell in gone - mine if not related & set(CELLS[cell].needs)} == set()


def without(fault: str, *ops: Op) -> tuple[Op, ...]:
    program = Program("p", FAMILY.id, FAMILY.scenarios[0].config, ops, {})
    return disarm(program, {fault}, FAMILY.roles, FAMILY.instead).ops


def call(proc: str, cmd: str, **args: object) -> Op:
    return Op("call", {"proc": proc, "cmd": f"lane.{cmd}", "args": args})


CLAIM, FINISH = call("w1", "claim"), call("w1", "finish", outcome="success")


def test_a_flow_that_fails_succeeds_instead() -> None:
    failed = call("w1", "finish", outcome="retryable")
    assert without("remote-5xx", CLAIM, failed) == (CLAIM, FINISH)


def test_no_time_passes_while_an_execution_is_open_even_of_a_dead_worker() -> None:
    assert without("lease-expiry", time(5), CLAIM, time(1), FINISH, time(2)) == (time(5), CLAIM, FINISH, time(2))
    assert without("lease-expiry", CLAIM, kill("w1"), time(1)) == (CLAIM, kill("w1"))


def test_nobody_acts_while_another_living_worker_executes() -> None:
    other, begun = call("w2", "claim"), start("w2")
    assert without("concurrent-worker", CLAIM, begun, other, FINISH, other) == (CLAIM, begun, FINISH, other)
    assert without("concurrent-worker", CLAIM, kill("w1"), other) == (CLAIM, kill("w1"), other)
    assert without("concurrent-worker", CLAIM, FREE) == (CLAIM, FREE)
