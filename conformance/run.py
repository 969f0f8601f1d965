"""A run: identify the driver, plan, execute, judge, shrink what failed, and write ``run.jsonl``."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

from conformance.baseline import read_baseline
from conformance.carriers.base import Carrier, DriverProblem, SuiteProblem
from conformance.carriers.inprocess import InProcessCarrier
from conformance.carriers.places import remove_left_behind
from conformance.drivers import PATIENCE_MS, Identity, carrier_maker, identify, twin_maker
from conformance.families.base import Family
from conformance.outcome import Outcome
from conformance.records import RecordWriter
from conformance.scope import Options, UsageError, header, judged_requirements, schedule_record, select, unreachable
from conformance.search.differential import compare
from conformance.search.failures import Failure, investigate
from conformance.search.plan import Plan, joined, reduced, spread
from conformance.search.pool import Job, outcomes, sheets
from conformance.search.program import Program
from conformance.search.rarity import Reached
from conformance.search.walk import WALKS, walks
from conformance.trace import write_trace
from conformance.verdict import JudgedRequirement, Tally, standings
from statemachines.spec import Spec, load

#: How many failing schedules of one requirement are shrunk and saved.
TRACES_PER_REQUIREMENT = 1
#: So many of its failing schedules are remembered, the shortest.
CANDIDATES = 8
#: The carriers are compared on so many schedules of each family at most, spread over the strata.
DIFFERENTIAL = 160
#: The written rule that reduces `ci` for real processes: every scenario once, so many schedules of each family spread
#: over the strata, the rest in portions for as long as a cell lacks, and this share of the random walks.
PROCESS_SCHEDULES = 400
PORTION = 40
PROCESS_WALK_SHARE = 0.2


class Progress(Protocol):
    """What a run tells while it goes on; the terminal renders it, a test collects it."""

    def phase(self, name: str, total: int) -> None:
        """A phase with so many steps begins."""
        ...

    def step(self, outcome: Outcome | None) -> None:
        """One step of the phase is done."""
        ...

    def finished(self) -> None:
        """No more phases."""
        ...


def run(options: Options, progress: Progress) -> Path:
    """Do the run and return the path of its ``run.jsonl``.

    Raises UsageError, BaselineError, UnknownDriver and DriverProblem before anything was run. An interrupt
    ends the record with a footer that says so.
    """
    spec = load()
    excused = read_baseline(options.baseline, spec) if options.baseline is not None else ()
    remove_left_behind()
    make = carrier_maker(options.driver, env=options.env, deadline_ms=options.deadline_ms)
    carrier = make()
    try:
        identity = identify(carrier, patience_ms=min(PATIENCE_MS, options.deadline_ms))

        def at_rung() -> Carrier:
            made = make()
            made.rung = identity.rung
            return made

        carrier.rung = identity.rung
        families = select(options, identity, spec)
        judged = judged_requirements(spec, families, options.only, options.profiles)
        options.out.mkdir(parents=True, exist_ok=True)
        lock = _alone_in(options.out)
        path = options.out / "run.jsonl"
        writer = RecordWriter(path)
        writer.write("header", **header(options, identity, spec, judged, families, excused))
        try:
            _Run(options, identity, spec, carrier, at_rung, writer, progress, judged).execute(families)
        finally:
            writer.close()
            lock.close()
    finally:
        carrier.shutdown()
    return path


class _Run:
    def __init__(
        self,
        options: Options,
        identity: Identity,
        spec: Spec,
        carrier: Carrier,
        make: Callable[[], Carrier],
        writer: RecordWriter,
        progress: Progress,
        judged: list[JudgedRequirement],
    ) -> None:
        self._options = options
        self._identity = identity
        self._spec = spec
        self._carrier = carrier
        self._make = make
        self._writer = writer
        self._progress = progress
        self._requirements = judged
        self._judged = {r.id for r in judged}
        self._tally = Tally()
        self._failing: dict[str, list[tuple[Family, Program]]] = {}

    def execute(self, families: Sequence[Family]) -> None:
        started = time.monotonic()
        end: dict[str, Any] = {"complete": False, "interrupted": False, "problem": None, "blame": None}
        try:
            for number, family in enumerate(families, 1):
                self._family(family, self._options.schedules * number // len(families))
            self._investigate()
            end["complete"] = True
        except KeyboardInterrupt:
            end["interrupted"] = True
        except (DriverProblem, SuiteProblem) as problem:
            # Outside of a schedule nothing else can be run. With nothing judged yet there is nothing to report either.
            end["problem"] = str(problem)
            end["blame"] = "driver" if isinstance(problem, DriverProblem) else "suite"
            if not self._tally.schedules:
                raise
        finally:
            self._progress.finished()
            seconds = round(time.monotonic() - started, 2)
            self._writer.write("footer", records=self._tally.schedules, **end, seconds=seconds)

    def _family(self, family: Family, wanted: int) -> None:
        """Everything of one family; ``wanted`` is how many schedules of the run there are to be after it."""
        options = self._options
        self._progress.phase(f"recording {family.id}", 0)
        plan = joined(sheets(family, self._make, options.budget, options.jobs))
        self._writer.write(
            "plan",
            family=family.id,
            schedules=len(plan.programs),
            points=plan.points,
            out_of_tier=[list(s) for s in plan.out_of_tier],
            tables={t: list(rows) for t, rows in family.tables().items()} if family.tables is not None else {},
        )
        in_process = isinstance(self._carrier, InProcessCarrier)
        first: Sequence[Program] = plan.programs
        rest: Sequence[Program] = ()
        if options.budget == "ci" and not in_process:
            first, rest = reduced(plan.programs, (s.id for s in family.scenarios), PROCESS_SCHEDULES)
        self._sweep(family, first)
        while rest and self._lacks_cells(family):
            self._sweep(family, rest[:PORTION])
            rest = rest[PORTION:]
        twin = twin_maker(options.driver) if options.budget != "quick" else None
        if twin is not None:
            self._differential(family, plan, twin)
        examples = 0 if options.scenarios else WALKS[options.budget]
        if not in_process:
            examples = int(examples * PROCESS_WALK_SHARE)
        examples = max(examples, wanted - self._tally.schedules)
        if examples:
            self._walk(family, plan, examples)

    def _sweep(self, family: Family, programs: Sequence[Program]) -> None:
        self._progress.phase(family.id, len(programs))
        job = Job(family, programs, self._make, self._identity.readings)
        for program, outcome in zip(programs, outcomes(job, self._options.jobs), strict=True):
            self._take(family, program, outcome)

    def _lacks_cells(self, family: Family) -> bool:
        mine = [r for r in self._requirements if r.id in family.checkers]
        away = unreachable(self._spec, self._identity.readings)
        found = standings(mine, self._tally, self._identity.rung, away, {})
        return not self._tally.problems and any(s.status == "uncovered" for s in found)

    def _differential(self, family: Family, plan: Plan, make_twin: Callable[[], Carrier]) -> None:
        sample = spread(plan.programs)[:DIFFERENTIAL]
        self._progress.phase(f"{family.id} in both carriers", len(sample))
        different = []
        for difference in compare(family, sample, self._make, make_twin, self._options.jobs):
            if difference is not None:
                different.append([difference.schedule, difference.first, difference.second])
            self._progress.step(None)
        self._writer.write("differential", family=family.id, sample=len(sample), different=different)

    def _walk(self, family: Family, plan: Plan, examples: int) -> None:
        options, readings = self._options, self._identity.readings
        self._progress.phase(f"{family.id} random walks", examples)
        reached = Reached()
        for taken, more in walks(family, self._make, plan, options.seed, examples, readings, options.jobs):
            reached.add(more)
            for found in taken:
                self._take(family, found.program, found.outcome)
        self._writer.write("walk", family=family.id, **reached.to_json())

    def _take(self, family: Family, program: Program, outcome: Outcome) -> None:
        record = schedule_record(outcome, self._judged)
        self._tally.add(record)
        self._writer.write("schedule", **record)
        self._progress.step(outcome)
        for requirement in record["named"]:
            known = [*self._failing.get(requirement, ()), (family, program)]
            self._failing[requirement] = sorted(known, key=lambda c: len(c[1].ops))[:CANDIDATES]

    def _investigate(self) -> None:
        if not self._failing:
            return
        self._progress.phase("shrinking failures", len(self._failing))
        for requirement, candidates in sorted(self._failing.items()):
            for number, (family, program) in enumerate(candidates[:TRACES_PER_REQUIREMENT], 1):
                failure = investigate(family, program, self._carrier, requirement, self._identity.readings)
                self._save(requirement, number, failure, self._tally.named[requirement])
            self._progress.step(None)

    def _save(self, requirement: str, number: int, failure: Failure, schedules: int) -> None:
        name = f"{requirement}-{number}.json"
        folder = os.path.relpath(Path.cwd(), self._options.out.resolve())
        trace = failure.trace(self._spec.digest, self._options.driver, self._options.seed, folder)
        write_trace(self._options.out / name, trace)
        self._writer.write(
            "failure",
            requirement=requirement,
            stability=failure.stability,
            schedules=schedules,
            file=str(self._options.out / name),
            trace=trace.to_json(),
        )


def _alone_in(out: Path) -> IO[str]:
    """Hold a folder for this run as long as the returned file is open; raises UsageError if another run has it."""
    lock = (out / ".lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UsageError(f"another run is writing into {out}; give this one another --out") from None
    return lock
