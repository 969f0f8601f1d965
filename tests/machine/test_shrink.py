"""The shrinker: what is left fails, nothing more can be taken away, and the budget is kept."""

from __future__ import annotations

import pytest

from conformance.search.program import Op, Program
from conformance.search.shrink import shrink
from tests.machine.tiny import program, put


def made(*jobs: str) -> Program:
    """A program with one op for each job."""
    return program(*(put("w1", job) for job in jobs))


def jobs(found: Program) -> str:
    """The jobs of a program, in order."""
    return "".join(op.args["args"]["job"] for op in found.ops)


@pytest.mark.parametrize("wanted", ["a", "h", "dh", "adh", "abcdefgh"])
def test_only_what_the_failure_needs_is_left(wanted: str) -> None:
    found, runs = shrink(made(*"abcdefgh"), lambda p: set(wanted) <= set(jobs(p)))
    assert jobs(found) == wanted
    assert runs <= 200


def test_what_is_left_is_minimal() -> None:
    def fails(p: Program) -> bool:
        text = jobs(p)
        return ("a" in text and "f" in text) or text.count("b") >= 2

    found, _ = shrink(made(*"abcdbef"), fails)
    assert fails(found)
    for index in range(len(found.ops)):
        assert not fails(found.with_ops("", found.ops[:index] + found.ops[index + 1 :]))


def test_a_program_that_fails_always_keeps_one_op() -> None:
    found, _ = shrink(made(*"abcdefgh"), lambda _: True)
    assert len(found.ops) == 1


def test_a_program_that_never_fails_again_is_left_alone() -> None:
    found, runs = shrink(made(*"abcd"), lambda _: False)
    assert (jobs(found), runs <= 200) == ("abcd", True)


@pytest.mark.parametrize("budget", [0, 1, 5, 17])
def test_the_budget_bounds_the_runs(budget: int) -> None:
    tried: list[Program] = []

    def fails(p: Program) -> bool:
        tried.append(p)
        return "z" in jobs(p)

    found, runs = shrink(made(*"abcdefghijklmnopz"), fails, budget)
    assert len(tried) == runs <= budget
    assert "z" in jobs(found)


def test_the_order_and_everything_else_of_the_program_stay() -> None:
    whole = program(Op("start", {"proc": "w1"}), put("w1", "a"), put("w1", "b"))
    found, _ = shrink(whole, lambda p: len(p.ops) >= 2 and p.ops[-1] == whole.ops[-1])
    assert found.ops == (whole.ops[0], whole.ops[2]) or found.ops == whole.ops[1:]
    assert (found.id, found.config) == (whole.id, whole.config)
