"""Behind the gate without a known answer: crash, deadline, an unreadable ledger.

OBS-039, OBS-041, OBS-043, OBS-044 and OBS-062.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import Command, Connection
from conformance.checkers.mutation.gate import GATE
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.observed import (
    UNKNOWN,
    deadline_passed,
    only_answer,
    replays,
    store_faults,
    told,
    wrong_answer,
    wrong_row,
)
from conformance.checkers.mutation.outcome import REFUSED_WRITE, TERMINAL_WRITE
from conformance.checkers.mutation.registry import CHECKERS

_INDETERMINATE = ("Indeterminate",)


@CHECKERS.checker("OBS-039", "suite", "wire", "answer", "rows")
def crash_behind_the_gate_before_the_call(index: Index) -> Iterator[Finding]:
    """A worker dies with its gate open and nothing read by the remote: Indeterminate, and its replay unknown."""
    yield from _left_open(index, _orphans(index, read=False), "no durable evidence tells it from a sent one")


@CHECKERS.checker("OBS-044", "suite", "wire", "answer", "rows")
def crash_without_terminal_evidence(index: Index) -> Iterator[Finding]:
    """A worker dies after the remote read its request and before anything is recorded: Indeterminate, unknown."""
    yield from _left_open(index, _orphans(index, read=True), "its worker died without terminal evidence")


def _orphans(index: Index, *, read: bool) -> dict[str, str]:
    """The attempts that a killed worker left Dispatching, by whether the remote had read a request, with their cell."""
    found: dict[str, str] = {}
    for kill in index.kills:
        command, rows = kill.command, index.rows_after(kill.seq)
        if command is None or rows is None or not command.invokes or not index.recovered_after(kill.seq):
            continue
        connections = index.connections_of(command)
        if any(c.read for c in connections) != read:
            continue
        # One that has lost the acknowledgement of its gate was never going to send: judged, and no cell.
        lost = any(_uncertain(f.action, f.changes) for f in store_faults(index, command))
        cell = "" if lost else _cell(command, connections)
        found |= {a: cell for a in index.attempts_of(command) if rows.state(a) == "Dispatching"}
    return found


def _cell(command: Command, connections: list[Connection]) -> str:
    if not any(c.read for c in connections):
        return "keyed" if command.key else "unkeyed"
    return "unanswered" if any(c.how in (None, "abandoned") for c in connections) else "answered"


def _left_open(index: Index, orphans: Mapping[str, str], why: str) -> Iterator[Finding]:
    for attempt, cell in orphans.items():
        if cell:
            yield Met(cell)
        yield from wrong_row(index, attempt, f"is Indeterminate in the end: {why}", _INDETERMINATE)
    yield from _repeated(index, orphans)


def _repeated(index: Index, attempts: Mapping[str, str]) -> Iterator[Violation]:
    """Wrong answers to repetitions of these attempts once they are settled as nobody knows."""
    for replay in replays(index):
        observer = replay.observer
        settled = replay.attempt in attempts and replay.state == "Indeterminate"
        if settled and not index.connections_of(observer) and told(observer) != UNKNOWN:
            yield wrong_answer("unknown with outcome_unknown, as nobody knows what was sent", observer)


@CHECKERS.checker("OBS-041", "suite", "wire", "answer", "rows")
def uncertain_gate_is_unknown_and_unavailable(index: Index) -> Iterator[Finding]:
    """The gate's acknowledgement is lost and the ledger stays down: unknown, outcome_unknown, cause unavailable."""
    for command in index.invocations:
        lost = next((f for f in store_faults(index, command) if f.outage and _uncertain(f.action, f.changes)), None)
        if lost is None or command.outcome != "done":
            continue
        yield Met(str(lost.world).replace("_", "-"))
        if told(command) != UNKNOWN:
            yield wrong_answer("unknown with outcome_unknown while nobody can say whether the gate opened", command)
        elif command.mutation.get("cause") != "unavailable":
            yield Violation(
                "cause unavailable while the ledger cannot be read",
                f"the cause was {command.mutation.get('cause')}",
                command.until,
                "answer",
            )


def _uncertain(action: str, changes: frozenset[tuple[str, str | None, str | None]]) -> bool:
    return action == "lose-ack" and GATE in changes


@CHECKERS.checker("OBS-043", "suite", "wire", "answer", "rows")
def deadline_behind_the_gate_is_unknown(index: Index) -> Iterator[Finding]:
    """The deadline passes behind the gate and no definite answer comes: unknown, outcome_unknown, then Indeterminate.

    The cause is free: a timeout may be kept as a diagnostic (OBS-019). A definite answer that the live worker hears
    after the deadline may be told instead.
    """
    for command in index.invocations:
        passed = deadline_passed(index, command) if command.outcome == "done" else None
        if passed is None:
            continue
        connections = index.connections_of(command)
        before = [c for c in connections if c.seq < passed]
        if before and all(c.end_seq > passed for c in before):
            yield Met("waiting")
        elif not before and _was_open(index, command.seq, passed, index.attempts_of(command)):
            yield Met("unsent")
        else:
            continue
        if any(c.known and c.end_seq < command.until for c in connections):
            continue
        if told(command) != UNKNOWN:
            yield wrong_answer("unknown with outcome_unknown: the deadline passed behind the gate", command)
        late = index.recovered_after(command.until)
        for attempt in index.attempts_of(command):
            if late and not any(c.known for c in connections):
                yield from wrong_row(index, attempt, "is Indeterminate in the end", _INDETERMINATE)


def _was_open(index: Index, began: int, passed: int, attempts: list[str]) -> bool:
    rows = index.rows_before(passed)
    return rows is not None and rows.seq > began and any(rows.state(a) == "Dispatching" for a in attempts)


@CHECKERS.checker("OBS-062", "suite", "wire", "answer", "rows")
def recovery_without_the_answer_is_unknown(index: Index) -> Iterator[Finding]:
    """The live caller heard a definite answer of which nothing could be written down: recovery says unknown.

    Only where the ledger stayed down from that write on: otherwise a host may have kept the evidence durably.
    """
    lost: dict[str, str] = {}
    claimed: set[str] = set()
    for command in index.invocations:
        answer = only_answer(index, command)
        if answer is None or not answer.known:
            continue
        for fault in store_faults(index, command):
            unwritten = fault.action == "fail" or fault.world == "rolled_back"
            if not (fault.outage and unwritten and fault.changes & {TERMINAL_WRITE, REFUSED_WRITE}):
                continue
            cell = ("failed" if fault.action == "fail" else "rolled-back") + f"-{answer.effect}"
            lost |= {a: cell for a in index.attempts_of(command) if index.recovered_after(command.until)}
            if command.under(index.config_at(command.seq)).mode == "event_claim":
                claimed |= set(index.attempts_of(command))
    for attempt, cell in lost.items():
        yield Met(cell)
        if attempt in claimed:
            yield Met("claimed")
        yield from wrong_row(index, attempt, "is Indeterminate: recovery lacks the answer", _INDETERMINATE)
    yield from _repeated(index, lost)
