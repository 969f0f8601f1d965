"""Spreads work over worker processes and gives the results back in order, so that they do not depend on how many."""

from __future__ import annotations

import gc
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from conformance.carriers.base import Carrier
from conformance.families.base import Family
from conformance.outcome import Outcome, run_schedule
from conformance.search.plan import Sheet, lay_out
from conformance.search.program import Program

T = TypeVar("T")
Maker = Callable[[], Carrier]


@dataclass(frozen=True, slots=True)
class Job:
    """Everything a worker needs; it is inherited by fork, never pickled."""

    family: Family
    programs: Sequence[Program]
    make_carrier: Maker
    readings: Mapping[str, str]


class Own:
    """A carrier of this process's own, made when it is first asked for."""

    def __init__(self, make: Maker) -> None:
        self._make = make
        self._carrier: Carrier | None = None

    def __call__(self) -> Carrier:
        """The carrier."""
        if self._carrier is None:
            self._carrier = self._make()
        return self._carrier

    def close(self) -> None:
        """End it, if it was made here. Those of workers end with them."""
        if self._carrier is not None:
            self._carrier.shutdown()


_work: Callable[[int], Any] | None = None


def in_order(work: Callable[[int], T], count: int, jobs: int, chunk: int = 8) -> Iterator[T]:
    """``work`` of each number below ``count``, in order, from ``jobs`` processes (in this one where that is enough).

    ``work`` is inherited by fork; its results are pickled. What it raises is raised here.
    """
    global _work  # noqa: PLW0603 - inherited by the forked workers
    if jobs <= 1 or count < 2 * jobs:
        yield from map(work, range(count))
        return
    _work = work
    with multiprocessing.get_context("fork").Pool(min(jobs, count), begin_worker) as pool:
        yield from pool.imap(_call, range(count), chunksize=max(1, min(chunk, count // jobs)))
        pool.close()
        pool.join()


def outcomes(job: Job, jobs: int) -> Iterator[Outcome]:
    """The outcome of every program, in order, from ``jobs`` processes (1: in this one)."""
    carrier = Own(job.make_carrier)
    try:
        yield from in_order(
            lambda number: run_schedule(job.family, job.programs[number], carrier(), job.readings),
            len(job.programs),
            jobs,
        )
    finally:
        carrier.close()


def sheets(family: Family, make_carrier: Maker, budget: str, jobs: int) -> Iterator[Sheet]:
    """The sheets of a family's scenarios, in order, recorded in ``jobs`` processes (1: in this one).

    Raises DriverProblem when the driver cannot be used.
    """
    carrier = Own(make_carrier)
    try:
        yield from in_order(
            lambda number: lay_out(family, family.scenarios[number], carrier(), budget),
            len(family.scenarios),
            jobs,
            chunk=1,
        )
    finally:
        carrier.close()


def begin_worker() -> None:
    """An interrupt is for the parent, which ends the workers; they have nothing to say about it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The pool ends its workers by this signal: they go silently.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # The plan and the specification live as long as the worker: they need not be looked through again and again.
    gc.freeze()
    # What a schedule leaves behind is small and mostly freed at once: looking for cycles can wait.
    gc.set_threshold(100_000, 50, 100)


def _call(number: int) -> Any:
    assert _work is not None
    return _work(number)
