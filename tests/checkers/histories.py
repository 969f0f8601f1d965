"""Real histories of the reference, and small pure edits of them.

A *history mutant* is a passing history with one edit that has to be named; a *near miss* looks like it and is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from conformance.carriers.inprocess import InProcessCarrier
from conformance.families import FAMILIES
from conformance.history import Event, History
from conformance.judge import judge
from conformance.search.execute import Execution
from conformance.search.plan import make_plan
from conformance.search.program import Program
from reference_impl.driver import Reference

FAMILY = FAMILIES["mutation-host"]
CARRIER = InProcessCarrier("reference", Reference)
Kinds = Mapping[str, Any]


@cache
def programs(scenario: str) -> Mapping[str, Program]:
    """The schedules of one scenario in the budget ``ci``, by id."""
    chosen = tuple(s for s in FAMILY.scenarios if s.id == scenario)
    return {p.id: p for p in make_plan(replace(FAMILY, scenarios=chosen), CARRIER, "ci").programs}


@cache
def history(schedule: str) -> History:
    """What the reference does in one schedule; nothing of it may be named."""
    scenario = "/".join(schedule.split("/")[:2])
    found = Execution(programs(scenario)[schedule], CARRIER, FAMILY.contract).run()
    assert not named(found)
    return found


def named(of: History) -> set[str]:
    """The requirements that the suite names for a history."""
    return {v.requirement for v in judge(FAMILY, of, of.readings) if v.violations}


def met(of: History, requirement: str) -> set[str]:
    """The cells of a requirement that occurred."""
    return {cell for v in judge(FAMILY, of, of.readings) if v.requirement == requirement for cell in v.met}


# -- finding -------------------------------------------------------------------------------------------------------


def at(of: History, kind: str, proc: str | None = None, nth: int = 1, **members: Any) -> int:
    """The place of the nth event of a kind with these members."""
    for event in of.events:
        if event.kind == kind and proc in (None, event.proc) and members.items() <= event.data.items():
            nth -= 1
            if nth == 0:
                return event.seq
    raise AssertionError(f"no {kind} of {proc} with {members}")


def asked(of: History, request_id: str) -> int:
    """The place of an invocation."""
    return next(
        e.seq
        for e in of.events
        if e.kind == "command"
        and e.data["cmd"] == "host.invoke"
        and e.data["args"]["request"]["request_id"] == request_id
    )


def told(of: History, request_id: str) -> int:
    """The place of the answer to an invocation."""
    number = of.events[asked(of, request_id)].data["id"]
    return at(of, "answer", id=number)


def attempt(of: History, request_id: str) -> str:
    """The attempt that an invocation made, by the last snapshot."""
    rows = _last(of)["attempts"]
    return next(str(r["attempt"]) for r in rows if r["request_id"] == request_id)


def reservation(of: History, request_id: str) -> str:
    """The reservation of that attempt."""
    mine = attempt(of, request_id)
    return next(str(r["reservation"]) for r in _last(of)["reservations"] if r["attempt"] == mine)


def _last(of: History) -> Kinds:
    kinds: Kinds = [e for e in of.events if e.kind == "rows"][-1].data["kinds"]
    return kinds


# -- editing -------------------------------------------------------------------------------------------------------


def rebuilt(of: History, events: list[Event]) -> History:
    """The history with these events, numbered anew."""
    return replace(of, events=tuple(replace(e, seq=n) for n, e in enumerate(events)))


def insert(of: History, place: int, *new: Event) -> History:
    """With new events right after a place."""
    events = list(of.events)
    return rebuilt(of, [*events[: place + 1], *new, *events[place + 1 :]])


def event(cls: str, kind: str, proc: str = "", **data: Any) -> Event:
    """A new event; its number comes with :func:`insert`."""
    return Event(0, cls, kind, proc, data)


def with_connection(of: History, place: int, proc: str, marker: str, effect: str = "done") -> History:
    """With one more request of a process, right after a place, read and answered at once."""
    number = 1 + sum(e.kind == "connection" for e in of.events)
    before = [e for e in of.events[: place + 1] if e.kind == "rows"]
    snapshot = [event("rows", "rows", proc, why="request", kinds=before[-1].data["kinds"])] if before else []
    return insert(
        of,
        place,
        event("wire", "connection", proc, conn=number),
        event("wire", "request", proc, conn=number, read=True, marker=marker, operation="thing.write"),
        *snapshot,
        event("suite", "meaning", proc, conn=number, marker=marker, effect=effect),
        event("wire", "response", proc, conn=number, how="answered", status=200),
    )


def answer_says(of: History, place: int, classification: str, code: str | None) -> History:
    """With another classification and error code in the answer at a place."""
    result = dict(of.events[place].data["result"])
    result["mutation"] = {**(result.get("mutation") or {}), "classification": classification, "replayed": False}
    result.pop("error", None)
    if code is not None:
        result["error"] = {"code": code}
    return changed(of, place, result=result)


def observed(of: History, place: int, **members: Any) -> History:
    """With other members in the observation of the answer at a place; ``...`` leaves a member out."""
    result = dict(of.events[place].data["result"])
    shown = {**result["mutation"], **members}
    result["mutation"] = {k: v for k, v in shown.items() if v is not ...}
    return changed(of, place, result=result)


def changed(of: History, place: int, **members: Any) -> History:
    """With other members in the event at a place."""
    events = list(of.events)
    events[place] = replace(events[place], data={**events[place].data, **members})
    return rebuilt(of, events)


def edit_rows(of: History, edit: Callable[[Kinds], Kinds], since: int = 0, until: int = 1 << 60) -> History:
    """With every snapshot between two places (the second not included) as ``edit`` makes it."""
    events = [
        replace(e, data={**e.data, "kinds": edit(e.data["kinds"])})
        if e.kind == "rows" and since <= e.seq < until
        else e
        for e in of.events
    ]
    return rebuilt(of, events)


def row_becomes(of: History, name: str, since: int = 0, until: int = 1 << 60, **columns: Any) -> History:
    """With other columns in the row of an attempt or reservation."""

    def edit(kinds: Kinds) -> Kinds:
        return {k: [{**r, **columns} if _is(r, name) else r for r in rows] for k, rows in kinds.items()}

    return edit_rows(of, edit, since, until)


def drop_row(of: History, name: str, since: int = 0, until: int = 1 << 60) -> History:
    """Without the row of an attempt or reservation."""

    def edit(kinds: Kinds) -> Kinds:
        return {k: [r for r in rows if not _is(r, name)] for k, rows in kinds.items()}

    return edit_rows(of, edit, since, until)


def _is(row: Kinds, name: str) -> bool:
    return name == (row.get("reservation") or row.get("attempt")) and "what" not in row and "entity" not in row


def log_says(of: History, name: str, source: str, dest: str, since: int) -> History:
    """With one more entry of an attempt at the end of the status log, as of a place."""

    def edit(kinds: Kinds) -> Kinds:
        log = kinds["status_log"]
        entry = {"seq": len(log) + 1, "entity": "mutation_attempt", "id": name, "from_state": source, "to_state": dest}
        return {**kinds, "status_log": [*log[:known], entry, *log[known:]]}

    known = len(next(e for e in of.events if e.kind == "rows" and e.seq >= since).data["kinds"]["status_log"])
    return edit_rows(of, edit, since)


def without_kind(of: History, kind: str) -> History:
    """As from a driver whose snapshots lack a kind of rows."""
    return edit_rows(of, lambda kinds: {k: rows for k, rows in kinds.items() if k != kind})


def only(of: History, *classes: str) -> History:
    """Without the events of all other classes; the numbers stay."""
    return replace(of, events=tuple(of.of(*classes)))


def without_rows(of: History) -> History:
    """As from a driver of rung L0."""
    return only(of, "suite", "wire", "answer")


def sent_late(of: History, request_id: str) -> History:
    """The request of an invocation goes out only after its caller was told ``unknown``, the deadline having passed."""
    first, last = at(of, "connection"), at(of, "response")
    answer = told(of, request_id)
    events = list(of.events)
    order = [
        *events[:first],
        events[answer],
        *events[first : last + 1],
        *events[last + 1 : answer],
        *events[answer + 1 :],
    ]
    return answer_says(rebuilt(of, order), first, "unknown", "outcome_unknown")
