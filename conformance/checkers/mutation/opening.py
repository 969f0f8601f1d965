"""The opening of the gate and its lost acknowledgement, as the rows show them (MUT-008, MUT-031, MUT-044, MUT-067)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import OPENED, TERMINAL, Command, Kill
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.moments import (
    GATE,
    duplicates,
    made,
    of_invocations,
    state_after,
    state_in_the_end,
    states_before,
    told,
)
from conformance.checkers.mutation.registry import CHECKERS

_RIVALS = {"host.cancel": "cancel", "recover": "recovery"}


@CHECKERS.checker("MUT-008", "suite", "wire", "answer", "rows")
def opening_compares_and_lasts(index: Index) -> Iterator[Finding]:
    """The gate opens from Prepared and from nothing else, and what has opened stays opened through a crash."""
    for command in index.invocations:
        for rival in index.during(command, frozenset(_RIVALS)):
            if "Prepared" in states_before(index, command, rival.seq) and command.outcome == "done":
                yield Met(_RIVALS[rival.cmd])
    for kill in index.kills:
        died, rows = kill.command, index.rows_after(kill.seq)
        mine = made(index, died) if died is not None and died.invokes else []
        if rows is not None and any(rows.state(a) == "Dispatching" for a in mine):
            yield Met("crash")
    for move in index.moves:
        if move.entity == "mutation_attempt" and move.dest == "Dispatching" and move.source in TERMINAL:
            yield Violation("a gate that opens from Prepared only", f"it opened from {move.source}", move.seq, "rows")
    yield from _closed_again(index)


def _closed_again(index: Index) -> Iterator[Violation]:
    opened: set[str] = set()
    seen: object = None
    for rows in index.rows:
        if rows.attempts is seen:
            continue
        seen = rows.attempts
        for attempt in sorted(opened):
            if rows.state(attempt) in (None, "Prepared"):
                opened.discard(attempt)
                became = rows.state(attempt) or "nothing at all"
                allowed = f"attempt {attempt[-6:]} stays behind its gate"
                yield Violation(allowed, f"its row became {became}", rows.seq, "rows")
        opened.update(a for a, row in rows.attempts.items() if row.get("state") in OPENED)


@CHECKERS.checker("MUT-031", "suite", "wire", "answer", "rows")
def lost_gate_leaves_recovery_uncertain(index: Index) -> Iterator[Finding]:
    """A gate that committed unheard, its worker gone: recovery ends it Indeterminate, and a replay does not know."""
    for fault in of_invocations(index, GATE, "lose-ack"):
        command = fault.command
        kill = next((k for k in index.kills if k.proc == fault.proc and k.seq > fault.seq), None)
        if command is None or kill is None or fault.world != "committed":
            continue
        for attempt in made(index, command):
            if state_after(index, attempt, kill.seq) == "Dispatching":
                yield from _uncertain(index, command, attempt, kill)


def _uncertain(index: Index, command: Command, attempt: str, kill: Kill) -> Iterator[Finding]:
    if not any(c.cmd == "recover" and c.seq > kill.seq for c in index.commands):
        return
    yield Met("worker-gone")
    state = state_in_the_end(index, attempt)
    wanted = ("Indeterminate",) if index.recovered_after(kill.seq) else ("Indeterminate", "Dispatching")
    if state not in wanted:
        yield Violation("Indeterminate after recovery", f"the row is {state}", index.rows[-1].seq, "rows")
    for replay in duplicates(index, command, kill.seq):
        if replay.outcome == "done" and replay.classification not in (None, "unknown"):
            yield Violation("unknown to whoever asks afterwards", told(replay), replay.until, "answer")


@CHECKERS.checker("MUT-067", "suite", "wire", "answer", "rows")
def open_gate_is_not_taken_back(index: Index) -> Iterator[Finding]:
    """A live worker whose gate committed unheard answers unknown; its row is never Aborted, its key quarantined."""
    for fault in of_invocations(index, GATE, "lose-ack"):
        command = fault.command
        if command is None or fault.world != "committed" or command.outcome != "done":
            continue
        for attempt in made(index, command):
            if not index.opened(attempt):
                continue
            yield Met("keyed" if command.key else "unkeyed")
            if (command.classification, command.code) != ("unknown", "outcome_unknown"):
                yield Violation("unknown with outcome_unknown", told(command), command.until, "answer")
            yield from _taken_back(index, attempt)


def _taken_back(index: Index, attempt: str) -> Iterator[Violation]:
    for move in index.moves_of(attempt):
        if move.dest in ("Aborted", "Completed", "Failed"):
            allowed = "an open gate that ends Indeterminate, as nothing is known"
            yield Violation(allowed, f"the row became {move.dest}", move.seq, "rows")
    last = index.rows[-1]
    if last.state(attempt) != "Indeterminate":
        return
    for row in (last.reservations or {}).values():
        if row.get("attempt") == attempt and row.get("state") not in ("Quarantined", "Pending"):
            yield Violation("a key that stays quarantined", f"it became {row.get('state')}", last.seq, "rows")


@CHECKERS.checker("MUT-044", "suite", "wire", "answer", "rows")
def crash_before_the_gate_is_known_once_aborted(index: Index) -> Iterator[Finding]:
    """After a crash ahead of the gate, not_attempted is said once the abort is durable, and not before."""
    failed = {f.command.seq for f in index.faults if f.action == "fail" and f.command is not None}
    for kill in index.kills:
        command, rows = kill.command, index.rows_after(kill.seq)
        if command is None or rows is None or not command.invokes:
            continue
        spent = any(m.entity == "approval" and m.seq <= rows.seq for m in index.moves)
        for attempt in made(index, command):
            if rows.state(attempt) != "Prepared":
                continue
            for observer in duplicates(index, command, kill.seq):
                if observer.outcome == "done" and observer.seq not in failed:
                    yield from _observed(index, attempt, observer, kill, failed, "spent-" if spent else "")


def _observed(
    index: Index, attempt: str, observer: Command, kill: Kill, failed: set[int], spent: str
) -> Iterator[Finding]:
    before, now = index.rows_before(observer.seq), state_after(index, attempt, observer.until)
    if now == "Prepared":
        if any(c.cmd == "recover" and c.seq in failed and kill.seq < c.seq < observer.seq for c in index.commands):
            yield Met(f"{spent}before-abort")
        if observer.classification == "not_attempted":
            yield Violation("no not_attempted while the row is Prepared", told(observer), observer.until, "answer")
    elif before is not None and before.state(attempt) == now == "Aborted":
        yield Met(f"{spent}after-abort")
        if observer.classification not in (None, "not_attempted"):
            yield Violation("not_attempted once the abort is durable", told(observer), observer.until, "answer")
