"""The supervisor of deadlines and cancels against the ledger (CANC-012, CANC-016, CANC-021)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import Command, Fault
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.moments import (
    GATE,
    PREPARE,
    SPEND,
    after,
    call_of,
    made,
    of_cancel,
    state_in_the_end,
    states_before,
    told,
    too_late,
)
from conformance.checkers.mutation.registry import CHECKERS


def _stops(index: Index, command: Command) -> list[Fault]:
    """Where the suite made a worker stand still."""
    return [f for f in index.faults if f.command is command and f.action == "pause"]


def _ahead_of_gate(stop: Fault) -> str | None:
    """The cell of a stop that is certainly ahead of the gate's write: prepare or spend is not acknowledged yet."""
    if GATE in stop.changes:
        return None
    if SPEND in stop.changes and call_of(stop) in ("begin", "committed"):
        return "deadline-spending"
    return "deadline-prepared" if PREPARE in stop.changes and call_of(stop) == "committed" else None


@CHECKERS.checker("CANC-012", "suite", "wire", "answer", "rows")
def supervisor_and_ledger_agree(index: Index) -> Iterator[Finding]:
    """What the supervisor meets ahead of the gate never passes it; what it meets behind the gate stays uncertain.

    A gate write that is in flight when the deadline passes is CANC-022.
    """
    for command in index.invocations:
        late = too_late(index, command)
        if late is not None:
            yield from _met_by_deadline(index, command, late)
        for cancel in index.during(command, frozenset({"host.cancel"})):
            if cancel.args["request_id"] == command.request_id:
                yield from _met_by_cancel(index, command, cancel)


def _met_by_deadline(index: Index, command: Command, late: int) -> Iterator[Finding]:
    states = states_before(index, command, late)
    stops = [s for s in _stops(index, command) if s.seq < late]
    sent = any(c.seq < late for c in index.connections_of(command))
    if not states and stops and not sent and _outside(index, late):
        yield Met("deadline-no-row")
        yield from _fenced(index, command, late)
    elif "Prepared" in states and stops and (cell := _ahead_of_gate(stops[-1])):
        yield Met(cell)
        yield from _fenced(index, command, late)
    elif "Dispatching" in states:
        yield Met("deadline-dispatching")
        yield from _uncertain(index, command)


def _outside(index: Index, seq: int) -> bool:
    """Whether nobody else held this call's key when the deadline passed: a waiter is no candidate."""
    rows = index.rows_before(seq)
    return rows is not None and not rows.attempts


def _fenced(index: Index, command: Command, since: int) -> Iterator[Violation]:
    for connection in after(index.connections_of(command), since):
        yield Violation("no request once the deadline has passed", "one was sent", connection.seq, "wire")
    for attempt in made(index, command):
        state = state_in_the_end(index, attempt)
        if index.opened(attempt):
            yield Violation("a gate that stays shut", f"the row is {state}", index.rows[-1].seq, "rows")
        elif state != "Aborted" and index.recovered_after(command.until):
            yield Violation("Aborted in the end", f"the row is {state}", index.rows[-1].seq, "rows")


def _uncertain(index: Index, command: Command) -> Iterator[Violation]:
    if any(c.known for c in index.connections_of(command)):
        return
    # An answer without any observation is CANC-016.
    if command.outcome == "done" and command.classification not in (None, "unknown"):
        yield Violation("unknown behind an open gate", told(command), command.until, "answer")
    for attempt in made(index, command):
        state = state_in_the_end(index, attempt)
        if state not in ("Indeterminate", "Dispatching"):
            allowed = "Indeterminate or Dispatching behind an open gate"
            yield Violation(allowed, f"the row is {state}", index.rows[-1].seq, "rows")


def _met_by_cancel(index: Index, command: Command, cancel: Command) -> Iterator[Finding]:
    for state in states_before(index, command, cancel.seq):
        if state == "Prepared":
            yield Met("cancel-prepared")
            if cancel.result.get("status") == "aborted":
                yield from _fenced(index, command, cancel.until)
        elif state == "Dispatching":
            yield Met("cancel-dispatching")
            for attempt in made(index, command):
                if state_in_the_end(index, attempt) == "Aborted":
                    happened = "the row is Aborted"
                    yield Violation("uncertainty behind an open gate", happened, index.rows[-1].seq, "rows")


@CHECKERS.checker("CANC-016", "suite", "wire", "answer", "rows")
def timeout_keeps_the_observation(index: Index) -> Iterator[Finding]:
    """A call that times out behind its gate is answered with the mutation's observation, not with a bare timeout."""
    for command in index.invocations:
        late = too_late(index, command)
        if late is None or command.outcome != "done" or "Dispatching" not in states_before(index, command, late):
            continue
        connections = index.connections_of(command)
        if any(c.known for c in connections):
            continue
        if not connections:
            yield Met("unsent")
        elif connections[0].how == "abandoned":
            yield Met("stalled")
        if not isinstance(command.result.get("mutation"), Mapping):
            happened = f"the caller was told {command.code or 'success'} and no more"
            yield Violation("outcome_unknown with its observation", happened, command.until, "answer")
        elif (command.classification, command.code) != ("unknown", "outcome_unknown"):
            yield Violation("outcome_unknown with its observation", told(command), command.until, "answer")


@CHECKERS.checker("CANC-021", "suite", "wire", "answer", "rows")
def deadline_in_the_prepare_ends_the_attempt(index: Index) -> Iterator[Finding]:
    """A deadline, or a cancel that says aborted, while the prepare is in flight: nothing is ever sent for that attempt.

    A cancel that says received has promised nothing ahead of the row.
    """
    for command in index.invocations:
        stops = [s for s in _stops(index, command) if PREPARE in s.changes and call_of(s) in ("begin", "committed")]
        if not stops:
            continue
        place = "ahead" if call_of(stops[-1]) == "begin" else "between"
        late = too_late(index, command)
        alone = len(_stops(index, command)) == 1
        if late is not None and late > stops[-1].seq and alone and _candidate(index, command, late):
            yield Met(f"deadline-{place}")
            yield from _ended(index, command, late)
        for cancel in index.during(command, frozenset({"host.cancel"})):
            mine = cancel.args["request_id"] == command.request_id and cancel.seq > stops[-1].seq
            if not mine or not set(states_before(index, command, cancel.seq)) <= {"Prepared"}:
                continue
            yield Met(f"cancel-{place}")
            if cancel.result.get("status") == "aborted" and not _elsewhere(index, cancel, command):
                yield from _ended(index, command, cancel.until)


def _candidate(index: Index, command: Command, seq: int) -> bool:
    """Whether the call has its row, or nobody has one: where another holds the key it is a waiter.

    One that has passed its gate by then was let go on from the prepare before.
    """
    states = states_before(index, command, seq)
    return set(states) <= {"Prepared"} if states else _outside(index, seq)


def _elsewhere(index: Index, cancel: Command, command: Command) -> bool:
    """Whether the cancel speaks of an attempt that another call made under the same request id."""
    return any(index.owner(a) is not command for a in of_cancel(index, cancel))


def _ended(index: Index, command: Command, since: int) -> Iterator[Violation]:
    yield from _fenced(index, command, since)
    if command.outcome == "done" and command.classification not in ("not_attempted", "unknown"):
        yield Violation("not_attempted or unknown", told(command), command.until, "answer")
