"""What a cancel may claim, and whom it may touch (CANC-001, CANC-002, CANC-006)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import OPENED, Command
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.moments import ABORT, made, of_cancel, state_after, too_late
from conformance.checkers.mutation.registry import CHECKERS


def _cancels(index: Index) -> Iterator[Command]:
    return (c for c in index.commands if c.cmd == "host.cancel")


def _states(index: Index, cancel: Command) -> dict[str, str | None]:
    """Where the attempts that a cancel speaks of stood when it came."""
    rows = index.rows_before(cancel.seq)
    return {a: rows.state(a) for a in of_cancel(index, cancel)} if rows else {}


@CHECKERS.checker("CANC-001", "suite", "answer", "rows")
def aborted_is_said_of_durable_aborts_only(index: Index) -> Iterator[Finding]:
    """A cancel that says aborted has an Aborted row behind it, whatever became of its write.

    An attempt whose gate has opened is CANC-002; a request without any attempt yet is CANC-021.
    """
    for cancel in _cancels(index):
        shut = [a for a, state in _states(index, cancel).items() if state == "Prepared"]
        if not shut or cancel.outcome != "done":
            continue
        for fault in index.faults:
            if fault.command is cancel and ABORT in fault.changes:
                if fault.action == "fail":
                    yield Met("failed")
                elif fault.action == "lose-ack":
                    yield Met(f"lost-{str(fault.world).replace('_', '-')}")
        if cancel.result.get("status") == "aborted":
            for attempt in shut:
                state = state_after(index, attempt, cancel.until)
                if state == "Prepared":
                    allowed = "aborted only once the row is Aborted"
                    yield Violation(allowed, "the cancel said aborted of a Prepared row", cancel.until, "answer")


@CHECKERS.checker("CANC-002", "suite", "wire", "answer", "rows")
def cancel_behind_the_gate_is_received_only(index: Index) -> Iterator[Finding]:
    """A cancel that finds the gate open claims no abort, whether or not the request has gone out.

    So does one that came while the gate was shut and is answered when it has opened: its abort has lost.
    """
    for cancel in _cancels(index):
        answered = index.rows_before(cancel.until)
        for attempt, state in _states(index, cancel).items():
            worker = index.owner(attempt)
            raced = state == "Prepared" and answered is not None and answered.state(attempt) in OPENED
            if raced:
                yield Met("raced")
            if state == "Dispatching" and worker is not None:
                sent = any(c.seq < cancel.seq for c in index.connections_of(worker))
                yield Met("sent" if sent else "unsent")
            if (raced or state in OPENED) and cancel.result.get("status") == "aborted":
                allowed = f"received, as the gate of {attempt[-6:]} was open"
                yield Violation(allowed, "the cancel said aborted", cancel.until, "answer")


@CHECKERS.checker("CANC-006", "suite", "answer", "rows")
def waiter_never_touches_the_original(index: Index) -> Iterator[Finding]:
    """Neither the cancel of a duplicate waiter nor its deadline touches the attempt that it waits for.

    A deadline counts while the original's own has not passed: what ends the original then is its own affair.
    """
    cancels = list(_cancels(index))
    if not cancels and not index.clocks:
        return
    for original in index.invocations:
        for waiter in index.repetitions(original):
            if waiter is original or waiter.key is None or made(index, waiter):
                continue
            if waiter.seq > original.until or waiter.until < original.seq:
                continue
            for cancel in cancels:
                mine = cancel.args["request_id"] == waiter.request_id != original.request_id
                if mine and max(waiter.seq, original.seq) < cancel.seq < min(waiter.until, original.until):
                    yield from _untouched(index, original, (cancel.seq, cancel.until), "")
            late = too_late(index, waiter)
            if late is not None and original.seq < late and waiter.until < original.until:
                yield from _untouched(index, original, (late, waiter.until), "deadline-")


def _untouched(index: Index, original: Command, span: tuple[int, int], cell: str) -> Iterator[Finding]:
    """Nobody but the waiter ran in between where no other command was sent meanwhile and no deadline had passed."""
    since, until = span
    before, now = index.rows_before(since), index.rows_after(until)
    late = too_late(index, original)
    movers = _MOVERS | {"host.cancel"} if cell else _MOVERS
    alone = not any(c.seq < until and c.until > since for c in index.during(original, movers))
    if before is None or now is None or not alone or (late is not None and late < until):
        return
    why = "its waiter's deadline passes" if cell else "a waiter cancels"
    for attempt in made(index, original):
        state = before.state(attempt)
        if state in ("Prepared", "Dispatching"):
            yield Met(cell + state.lower())
            if now.state(attempt) == "Aborted":
                yield Violation(f"the original stays {state} when {why}", "its row became Aborted", now.seq, "rows")
        for name, row in (before.reservations or {}).items():
            held = (now.reservations or {}).get(name, {}).get("state")
            if row.get("attempt") == attempt and row.get("state") == "Pending" and held in (None, "Expired"):
                allowed = f"the original's reservation stays when {why}"
                yield Violation(allowed, f"it became {held or 'nothing at all'}", now.seq, "rows")


_MOVERS = frozenset({"recover", "host.housekeep"})
