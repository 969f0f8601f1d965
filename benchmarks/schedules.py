"""How many schedules one core executes and judges per second, in process, and where the time goes.

Each schedule of a sample of the ``ci`` sweep runs several times and its cheapest run counts, in processor time: what
else the machine does then weighs little. The budget is 300 a second and core (DESIGN section 10); the clock of a test
never asserts it. Run by hand: ``python benchmarks/schedules.py [every [rounds]]``, where ``every`` = 3 takes each third
schedule.
"""

from __future__ import annotations

import platform
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import reference_impl.store
from conformance.carriers.base import Carrier
from conformance.carriers.inprocess import InProcessCarrier, store_root
from conformance.families.mutation_host import MUTATION_HOST as FAMILY
from conformance.history import History
from conformance.outcome import weigh
from conformance.search.execute import Execution
from conformance.search.plan import make_plan
from conformance.search.program import Program
from reference_impl.driver import Reference

BUDGET = 300


class TimedConnection(sqlite3.Connection):
    """A connection that adds up, in seconds, what each kind of call costs."""

    spent: ClassVar[Counter[str]] = Counter()

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        start = time.process_time()
        try:
            return super().execute(sql, *args)
        finally:
            # The first statement of a connection reads the schema; it is the pragma that the store kit runs first.
            kind = "reading the schema" if sql == "PRAGMA synchronous=FULL" else sql.split(maxsplit=1)[0].lower()
            self.spent[kind] += time.process_time() - start

    def close(self) -> None:
        start = time.process_time()
        super().close()
        self.spent["closing"] += time.process_time() - start


def cheapest(jobs: Sequence[Callable[[], object]], rounds: int) -> float:
    """The sum, in seconds of processor time, of each job's cheapest run."""
    best = [float("inf")] * len(jobs)
    for _ in range(rounds):
        for number, job in enumerate(jobs):
            start = time.process_time()
            job()
            best[number] = min(best[number], time.process_time() - start)
    return sum(best)


def execute(program: Program, carrier: Carrier) -> History:
    """One schedule, not judged."""
    return Execution(program, carrier, FAMILY.contract).run()


def where_sqlite_spends(programs: Sequence[Program], carrier: Carrier) -> Counter[str]:
    """Seconds for each kind of database call over one run of all programs."""
    connect = sqlite3.connect

    def timed(*args: Any, **members: Any) -> sqlite3.Connection:
        start = time.process_time()
        made = connect(*args, factory=TimedConnection, **members)
        TimedConnection.spent["opening"] += time.process_time() - start
        return made

    reference_impl.store.sqlite3.connect = timed  # type: ignore[attr-defined,assignment]
    try:
        for program in programs:
            execute(program, carrier)
    finally:
        reference_impl.store.sqlite3.connect = connect  # type: ignore[attr-defined]
    return TimedConnection.spent


def main() -> int:
    """Print the figures; the exit status is 1 when the budget is missed."""
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    carrier = InProcessCarrier("reference", Reference)
    start = time.process_time()
    plan = make_plan(FAMILY, carrier, "ci")
    recording = time.process_time() - start
    programs = plan.programs[::every]
    histories = [execute(program, carrier) for program in programs]
    executing = cheapest([lambda p=p: execute(p, carrier) for p in programs], rounds)  # type: ignore[misc]
    judging = cheapest([lambda h=h: weigh(FAMILY, h, {}) for h in histories], rounds)  # type: ignore[misc]
    spent = where_sqlite_spends(programs, carrier)
    rate = len(programs) / (executing + judging)
    processes = sum(event.kind == "start" for h in histories for event in h.events) + len(histories)

    print(f"{platform.machine()}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}")
    print(f"the store lies in {store_root()}; processor time; the cheapest of {rounds} runs of each schedule")
    print(f"recording: {len(plan.programs)} schedules over {plan.points} points planned in {recording:.2f} s")
    print(f"sample: {len(programs)} schedules, {processes / len(programs):.1f} processes each with the observer")
    print(f"executing {executing / len(programs) * 1000:6.2f} ms a schedule")
    print(
        f"judging   {judging / len(programs) * 1000:6.2f} ms a schedule, {judging / (executing + judging):.0%} of all"
    )
    print(f"{rate:.0f} schedules per second and core, budget {BUDGET}: {'kept' if rate >= BUDGET else 'MISSED'}")
    print("\nof a schedule, in SQLite (one run, with the cost of measuring):")
    for kind, seconds in spent.most_common(8):
        print(f"  {seconds / len(programs) * 1000:6.2f} ms  {kind}")
    return 0 if rate >= BUDGET else 1


if __name__ == "__main__":
    sys.exit(main())
