"""Ahead of the gate: a row that could not be anchored, a deadline, a recovery (OBS-033, OBS-034, OBS-035, OBS-038)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import Command, Fault
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.keys import ANCHOR
from conformance.checkers.mutation.observed import (
    UNKNOWN,
    deadline_passed,
    replays,
    store_faults,
    told,
    wrong_answer,
    wrong_row,
)
from conformance.checkers.mutation.registry import CHECKERS

_RIVALS = frozenset({"recover", "host.cancel"})


def _anchoring(index: Index) -> Iterator[tuple[Command, Fault]]:
    """The invocations whose anchor a store fault struck and that did not get through by another try."""
    for command in index.invocations:
        for fault in store_faults(index, command):
            if ANCHOR in fault.changes and not _sent(index, command):
                yield command, fault
                break


def _sent(index: Index, command: Command) -> bool:
    moves = (m for attempt in index.attempts_of(command) for m in index.moves_of(attempt))
    return bool(index.connections_of(command)) or any(m.dest == "Dispatching" for m in moves)


@CHECKERS.checker("OBS-033", "suite", "wire", "answer", "rows")
def unanchored_is_not_attempted(index: Index) -> Iterator[Finding]:
    """Where the anchor failed, or nobody knows whether it did, the answer is not_attempted with code unavailable.

    A keyed candidate may also be told unknown (ambiguity keyed-anchor-unavailable): a winner may be hidden from it.
    """
    for command, fault in _anchoring(index):
        if command.outcome != "done":
            continue
        world = f"lost-{str(fault.world).replace('_', '-')}" if fault.action == "lose-ack" else "failed"
        yield Met(world if not command.key else f"keyed-{world}")
        allowed = {("not_attempted", "unavailable")} | ({UNKNOWN} if command.key else set())
        if told(command) not in allowed:
            yield wrong_answer("not_attempted with unavailable: no gate can have opened", command)


@CHECKERS.checker("OBS-034", "suite", "wire", "answer", "rows")
def survivor_of_an_uncertain_prepare_is_aborted(index: Index) -> Iterator[Finding]:
    """A Prepared row that survives a lost acknowledgement is Aborted in the end, by its worker or by recovery.

    In the end: once a pass of recovery was done that no store fault struck.
    """
    for command, fault in _anchoring(index):
        if fault.action != "lose-ack" or fault.world != "committed":
            continue
        yield Met("ledger-down" if fault.outage else "keyed" if command.key else "unkeyed")
        if index.recovered_after(command.until):
            for attempt in index.attempts_of(command):
                yield from wrong_row(index, attempt, "is Aborted in the end: it never passed its gate", ("Aborted",))


@CHECKERS.checker("OBS-035", "suite", "wire", "answer", "rows")
def deadline_ahead_of_the_gate_is_a_timeout(index: Index) -> Iterator[Finding]:
    """The deadline passes while the row is Prepared and nobody else is about: Aborted, not_attempted, timeout.

    A worker that opens its gate all the same is judged elsewhere.
    """
    for command in index.invocations:
        passed = deadline_passed(index, command) if command.outcome == "done" else None
        rows = index.rows_before(passed) if passed is not None else None
        if rows is None or store_faults(index, command) or any(index.during(command, _RIVALS)):
            continue
        clock = index.clock_at(command.until)
        for attempt in index.attempts_of(command):
            if rows.state(attempt) != "Prepared" or index.opened(attempt) or clock is None or not clock.trusted:
                continue
            yield Met("keyed" if command.key else "unkeyed")
            if told(command) != ("not_attempted", "timeout"):
                yield wrong_answer("not_attempted with timeout: the deadline passed ahead of the gate", command)
            yield from wrong_row(index, attempt, "is Aborted by the deadline", ("Aborted",))


@CHECKERS.checker("OBS-038", "suite", "wire", "answer", "rows")
def recovery_of_prepared_is_not_attempted(index: Index) -> Iterator[Finding]:
    """What a dead worker left Prepared becomes Aborted, and its replay not_attempted, approval spent or not.

    What was spent stays spent.
    """
    orphans: dict[str, str] = {}
    for kill in index.kills:
        rows = index.rows_after(kill.seq)
        command = kill.command
        if command is None or rows is None or not command.invokes or not index.recovered_after(kill.seq):
            continue
        for attempt in index.attempts_of(command):
            if rows.state(attempt) == "Prepared":
                spent = any(spend["attempt"] == attempt for spend in rows.spends or ())
                orphans[attempt] = "spent" if spent else "unspent"
    for attempt, cell in orphans.items():
        yield Met(cell)
        yield from wrong_row(index, attempt, "is Aborted once recovery was done: its gate never opened", ("Aborted",))
        last = index.rows[-1]
        if cell == "spent" and last.spends is not None and all(spend["attempt"] != attempt for spend in last.spends):
            allowed = f"what was spent for attempt {attempt[-6:]} stays spent when recovery aborts it"
            yield Violation(allowed, "the row of the spend is gone", last.seq, "rows")
    for replay in replays(index):
        if replay.attempt in orphans and replay.state == "Aborted":
            observer = replay.observer
            fits = observer.classification == "not_attempted" and observer.mutation.get("cause") is not None
            if index.connections_of(observer):
                continue
            if not fits or observer.code in (None, "outcome_unknown"):
                yield wrong_answer("not_attempted with a cause, as recovery closed the gate", observer)
