"""The one shrinker: delta debugging over the ops of a program, for sweep and Hypothesis alike."""

from __future__ import annotations

from collections.abc import Callable

from conformance.search.program import Op, Program


def shrink(program: Program, fails: Callable[[Program], bool], budget: int = 200) -> tuple[Program, int]:
    """The smallest program found, by removing runs of ops, for which ``fails`` still holds; and the runs it took.

    ``budget`` bounds the number of executions. A program that cannot be run counts as not failing.
    """
    ops, runs = program.ops, 0
    size = max(len(ops) // 2, 1)
    while size >= 1 and runs < budget:
        ops, used, smaller = _pass(program, ops, size, fails, budget - runs)
        runs += used
        if size == 1 and not smaller:
            break
        size = size if smaller and size == 1 else size // 2 or 1
    return program.with_ops("", ops), runs


def _pass(
    program: Program, ops: tuple[Op, ...], size: int, fails: Callable[[Program], bool], budget: int
) -> tuple[tuple[Op, ...], int, bool]:
    at, runs, smaller = 0, 0, False
    while at < len(ops) and runs < budget:
        candidate = ops[:at] + ops[at + size :]
        if not candidate:
            break
        runs += 1
        if fails(program.with_ops("", candidate)):
            ops, smaller = candidate, True
        else:
            at += size
    return ops, runs, smaller
