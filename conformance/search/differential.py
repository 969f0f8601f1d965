"""The carrier differential: the same schedules in process and in real processes must leave the same evidence.

That, and not a corpus of behaviours, proves that the simulation of processes and crashes is faithful (DESIGN 6).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.families.base import Family
from conformance.history import EVIDENCE, Event
from conformance.search.execute import Execution
from conformance.search.pool import Maker, Own, in_order
from conformance.search.program import Program


@dataclass(frozen=True, slots=True)
class Difference:
    """The first event in which two carriers disagree on one schedule."""

    schedule: str
    first: str
    second: str


def compare(
    family: Family, programs: Sequence[Program], make_one: Maker, make_other: Maker, jobs: int
) -> Iterator[Difference | None]:
    """For each program, in order, the first difference between the carriers, or None; from ``jobs`` processes."""
    one, other = Own(make_one), Own(make_other)

    def work(number: int) -> Difference | None:
        program = programs[number]
        left, right = (Execution(program, c(), family.contract).run() for c in (one, other))
        return None if left.canonical() == right.canonical() else _first(program.id, left.events, right.events)

    try:
        yield from in_order(work, len(programs), jobs, chunk=2)
    finally:
        one.close()
        other.close()


def _first(schedule: str, left: tuple[Event, ...], right: tuple[Event, ...]) -> Difference:
    mine, theirs = ([e for e in events if e.cls in EVIDENCE] for events in (left, right))
    for a, b in zip(mine, theirs, strict=False):
        if (a.cls, a.kind, a.proc, a.data) != (b.cls, b.kind, b.proc, b.data):
            return Difference(schedule, _brief(a), _brief(b))
    return Difference(schedule, f"{len(mine)} events", f"{len(theirs)} events")


def _brief(event: Event) -> str:
    return f"{event.cls} {event.kind} {event.proc} {str(dict(event.data))[:200]}"
