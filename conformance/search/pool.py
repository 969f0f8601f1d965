"""Spreads schedules over worker processes and gives their outcomes back in plan order."""

from __future__ import annotations

import gc
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.carriers.base import Carrier
from conformance.families.base import Family
from conformance.outcome import Outcome, run_schedule
from conformance.search.plan import Sheet, lay_out
from conformance.search.program import Program


@dataclass(frozen=True, slots=True)
class Job:
    """Everything a worker needs; it is inherited by fork, never pickled."""

    family: Family
    programs: Sequence[Program]
    make_carrier: Callable[[], Carrier]
    readings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Recording:
    """What is laid out: the scenarios of one family for one budget; inherited by fork like a :class:`Job`."""

    family: Family
    make_carrier: Callable[[], Carrier]
    budget: str


_job: Job | None = None
_recording: _Recording | None = None
_carrier: Carrier | None = None


def outcomes(job: Job, jobs: int) -> Iterator[Outcome]:
    """The outcome of every program, in order, from ``jobs`` processes (1: in this one)."""
    global _job, _carrier
    _job, _carrier = job, None
    if jobs <= 1 or len(job.programs) < 4 * jobs:
        carrier = job.make_carrier()
        try:
            for program in job.programs:
                yield run_schedule(job.family, program, carrier, job.readings)
        finally:
            carrier.shutdown()
        return
    with multiprocessing.get_context("fork").Pool(jobs, begin_worker) as pool:
        yield from pool.imap(_one, range(len(job.programs)), chunksize=8)
        pool.close()
        pool.join()


def sheets(family: Family, make_carrier: Callable[[], Carrier], budget: str, jobs: int) -> list[Sheet]:
    """The sheets of a family's scenarios, in order, recorded in ``jobs`` processes (1: in this one).

    Raises DriverProblem when the driver cannot be used.
    """
    global _recording, _carrier
    _recording, _carrier = _Recording(family, make_carrier, budget), None
    scenarios = range(len(family.scenarios))
    if jobs <= 1 or len(scenarios) < 2 * jobs:
        carrier = make_carrier()
        try:
            return [lay_out(family, scenario, carrier, budget) for scenario in family.scenarios]
        finally:
            carrier.shutdown()
    with multiprocessing.get_context("fork").Pool(jobs, begin_worker) as pool:
        laid = list(pool.imap(_sheet, scenarios, chunksize=1))
        pool.close()
        pool.join()
    return laid


def begin_worker() -> None:
    """An interrupt is for the parent, which ends the workers; they have nothing to say about it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The pool ends its workers by this signal: they go silently.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # The plan and the specification live as long as the worker: they need not be looked through again and again.
    gc.freeze()


def _one(index: int) -> Outcome:
    global _carrier  # noqa: PLW0603 - one carrier for each worker
    assert _job is not None
    if _carrier is None:
        _carrier = _job.make_carrier()
    return run_schedule(_job.family, _job.programs[index], _carrier, _job.readings)


def _sheet(number: int) -> Sheet:
    global _carrier  # noqa: PLW0603 - one carrier for each worker
    assert _recording is not None
    if _carrier is None:
        _carrier = _recording.make_carrier()
    family = _recording.family
    return lay_out(family, family.scenarios[number], _carrier, _recording.budget)
