"""What several judgements of answers ask: who replays which attempt, when a deadline passed, what struck a command."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from conformance.checkers.base import Violation
from conformance.checkers.mutation.facts import TERMINAL, Command, Connection, Fault
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.keys import RETENTION_MS, TICKS_MS

#: The service deadline of one invocation.
DEADLINE_MS: Final = 20_000
#: What a settled attempt is told as.
CLASSIFICATION: Final = {
    "Completed": "applied",
    "Failed": "refused",
    "Aborted": "not_attempted",
    "Indeterminate": "unknown",
}
UNKNOWN: Final = ("unknown", "outcome_unknown")
_STORE: Final = frozenset({"fail", "lose-ack"})
_RIVALS: Final = frozenset({"recover", "host.cancel", "host.housekeep"})


@dataclass(frozen=True, slots=True)
class Replay:
    """An exact repetition of a settled keyed invocation within its retention, struck by no fault.

    ``attempt`` is None without rows; then ``state`` follows from the provider's answer to the original.
    """

    original: Command
    observer: Command
    state: str
    attempt: str | None


@lru_cache(maxsize=1)
def replays(index: Index) -> tuple[Replay, ...]:
    """Every replay of a history, in order; one under a changed configuration may be denied and is none."""
    return tuple(_replays(index))


def _replays(index: Index) -> Iterator[Replay]:
    earlier: dict[tuple[str, str | None, str], list[Command]] = {}
    for command in index.invocations:
        if not command.key:
            continue
        originals = earlier.setdefault(command.subject, [])
        if originals and command.outcome == "done" and not store_faults(index, command):
            found = _replayed(index, originals, command)
            began = found and index.config_at(found.original.seq)
            if found is not None and all(began == config for config in index.configs_over(command)):
                yield found
        originals.append(command)


def _replayed(index: Index, originals: list[Command], observer: Command) -> Replay | None:
    if not index.rows:
        return _by_wire(index, originals, observer)
    rows = index.rows_before(observer.seq)
    if rows is None:
        return None
    makers = {c.seq: c for c in originals}
    made = [(a, index.owner(a)) for a in rows.attempts]
    mine = [(a, maker) for a, maker in made if maker is not None and maker.seq in makers]
    if not mine:
        return None
    attempt, original = mine[-1]
    state = rows.state(attempt)
    moves = index.moves_of(attempt)
    settlements = {m.dest for m in moves if m.dest in TERMINAL}
    opened = any(m.dest == "Dispatching" for m in moves)
    if state is None or settlements != {state} or moves[0].dest == "Aborted" or (opened and state == "Aborted"):
        # Not settled, settled twice, aborted behind the gate, or a mere record of a refusal: judged elsewhere.
        return None
    settled = next(m.seq for m in moves if m.dest in TERMINAL)
    if not _retained(index, settled, observer):
        return None
    return Replay(original, observer, state, attempt)


def _by_wire(index: Index, originals: list[Command], observer: Command) -> Replay | None:
    """Without rows: the provider told the original's live observer what became of it, and nobody interfered."""
    for original in originals:
        connections = index.connections_of(original)
        if len(connections) != 1 or original.outcome != "done" or not connections[0].known:
            continue
        answered = connections[0].end_seq < original.until
        undisturbed = answered and index.elapsed(original) == 0 and not any(index.during(original, _RIVALS))
        if undisturbed and _retained(index, original.until, observer):
            state = "Completed" if connections[0].effect == "done" else "Failed"
            return Replay(original, observer, state, None)
    return None


def _retained(index: Index, settled: int, observer: Command) -> bool:
    """Whether the observer was through well within the retention of a result that was settled then."""
    began, now = index.clock_at(settled), index.clock_at(observer.until)
    if began is None or now is None:
        return False
    passed = max(now.wall_ms - began.wall_ms, now.mono_ms - began.mono_ms)
    return passed + TICKS_MS < RETENTION_MS


def store_faults(index: Index, command: Command) -> list[Fault]:
    """The store faults that struck a command."""
    return _by_command(index).get(command.seq, [])


@lru_cache(maxsize=1)
def _by_command(index: Index) -> dict[int, list[Fault]]:
    found: dict[int, list[Fault]] = {}
    for fault in index.faults:
        if fault.command is not None and fault.action in _STORE:
            found.setdefault(fault.command.seq, []).append(fault)
    return found


def undisturbed(index: Index, command: Command) -> bool:
    """Whether no store fault struck this command and nobody recovered or cancelled beside it."""
    return not store_faults(index, command) and not any(index.during(command, _RIVALS))


def deadline_passed(index: Index, command: Command) -> int | None:
    """The event that took a command past its service deadline; None if none did while it was outstanding."""
    began = index.clock_at(command.seq)
    start = began.mono_ms if began else 0
    return next(
        (c.seq for c in index.clocks if command.seq < c.seq < command.until and c.mono_ms - start >= DEADLINE_MS), None
    )


def only_answer(index: Index, command: Command) -> Connection | None:
    """The one connection of an answered invocation, if its response came in time to be heard."""
    connections = index.connections_of(command)
    if len(connections) != 1 or command.outcome != "done" or index.elapsed(command) >= DEADLINE_MS:
        return None
    return connections[0] if connections[0].end_seq < command.until else None


def told(command: Command) -> tuple[str | None, str | None]:
    """Classification and error code of an answer."""
    return command.classification, command.code


def wrong_answer(allowed: str, command: Command) -> Violation:
    """The violation that an answer shows."""
    return Violation(allowed, command.told, command.until, "answer")


def wrong_row(index: Index, attempt: str, allowed: str, states: Container[str]) -> Iterator[Violation]:
    """A violation if the last snapshot has the attempt in another state; an attempt that is no longer kept is none."""
    state = index.rows[-1].state(attempt) if index.rows else None
    if state is not None and state not in states:
        yield Violation(f"attempt {attempt[-6:]} {allowed}", f"its row is {state}", index.rows[-1].seq, "rows")
