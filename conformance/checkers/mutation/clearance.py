"""What has to have succeeded before a gate opens: admission, preflight, and the spend (MUT-007)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.cases import Case
from conformance.checkers.mutation.facts import Command
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.moments import after, call_of, made, states_before
from conformance.checkers.mutation.registry import CHECKERS

SPEND: Final = ("approval", None, "Spent")


@CHECKERS.checker("MUT-007", "suite", "wire", "answer", "rows")
def gate_waits_for_its_clearance(index: Index) -> Iterator[Finding]:
    """No gate opens for a call that admission or preflight refuses, nor before its spend is known to have succeeded."""
    for case in index.cases:
        command = case.command
        refusal = _refused(index, case)
        if refusal is not None and command.outcome == "done":
            yield Met(refusal)
            yield from _shut(index, command, command.seq, f"{refusal} refuses")
    for fault in index.faults:
        spender = fault.command
        if spender is None or SPEND not in fault.changes or not spender.invokes:
            continue
        if fault.action in ("fail", "lose-ack"):
            yield Met("spend-failed" if fault.action == "fail" else "spend-uncertain")
            yield from _shut(index, spender, fault.seq, "the spend is not known to have succeeded")
        elif fault.action == "pause" and call_of(fault) in ("begin", "committed"):
            rows = index.rows_after(fault.seq)
            if rows is not None and "Prepared" in states_before(index, spender, rows.seq + 1):
                yield Met("spend-held")
    yield from _ahead_of_the_spend(index)


def _refused(index: Index, case: Case) -> str | None:
    """Who refuses a call by the configuration that stood throughout; preflight has no say over a key that is held."""
    command = case.command
    if index.reconfigured(command):
        return None
    if case.policy.first is not None:
        return "admission"
    rows = index.rows_before(command.seq)
    held = [row for row in (rows.reservations or {}).values() if row.get("key") == command.key] if rows else []
    return "preflight" if case.policy.credential != "ready" and not held else None


def _shut(index: Index, command: Command, since: int, why: str) -> Iterator[Violation]:
    for attempt in made(index, command):
        if index.opened(attempt):
            yield Violation(f"a gate that stays shut, as {why}", "it opened", index.rows[-1].seq, "rows")
    for connection in after(index.connections_of(command), since):
        yield Violation(f"no request, as {why}", f"{connection.proc} connected", connection.seq, "wire")


def _ahead_of_the_spend(index: Index) -> Iterator[Violation]:
    """By the status log: no more gates of calls that need an approval than spends so far.

    A driver that shows no spends, or keeps no log, leaves the order open.
    """
    if index.sampled or not any((m.entity, m.dest) == ("approval", "Spent") for m in index.moves):
        return
    spending = {attempt for c in index.cases if c.policy.mode != "not_required" for attempt in made(index, c.command)}
    spent = opened = 0
    for move in index.moves:
        if (move.entity, move.dest) == ("approval", "Spent"):
            spent += 1
        elif (move.entity, move.dest) == ("mutation_attempt", "Dispatching") and move.id in spending:
            opened += 1
            if opened > spent:
                allowed = f"the spend ahead of the gate of attempt {move.id[-6:]}"
                yield Violation(allowed, "its gate opened first", move.seq, "rows")
