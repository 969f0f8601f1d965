"""The service deadline as a limit: twenty seconds from the receipt of a request, not fewer and not more (LIMIT-003)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import TERMINAL, Clock, Command, Connection
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.keys import NEARLY_MS, TICKS_MS
from conformance.checkers.mutation.moments import DEADLINE_MS, made, states_before, told_cause, too_late
from conformance.checkers.mutation.registry import CHECKERS

#: A call whose request leaves this long after its receipt tells which of the two a deadline is counted from.
_LATER_MS: Final = 4_000


@CHECKERS.checker("LIMIT-003", "suite", "wire", "answer", "rows")
def twenty_seconds_from_receipt(index: Index) -> Iterator[Finding]:
    """No call ends by its deadline ahead of it, be it a wait, and none whose provider stalls goes on beyond it."""
    for command in index.invocations:
        if command.outcome != "done":
            continue
        late = too_late(index, command)
        if not made(index, command):
            yield from _waits(index, command) if late is None else ()
        else:
            yield from _ahead(index, command) if late is None else _beyond(index, command, late)


def _since(index: Index, command: Command, clock: Clock) -> int:
    began = index.clock_at(command.seq)
    return clock.mono_ms - (began.mono_ms if began else 0)


def _ahead(index: Index, command: Command) -> Iterator[Finding]:
    """The deadline of this call never came."""
    nearly = _nearly_over(index, command)
    open_then = [c for at in nearly for c in index.connections_of(command) if c.seq < at < c.end_seq]
    if open_then:
        yield Met("provider-in-time")
    elif nearly and set(states_before(index, command, nearly[-1])) <= {"Prepared"}:
        yield Met("ahead-of-gate")
    if index.elapsed(command) >= DEADLINE_MS - TICKS_MS:
        return
    given_up = any(_given_up(index, command, c) for c in index.connections_of(command))
    if given_up or told_cause(command) == "timeout":
        yield Violation(
            f"{DEADLINE_MS} ms from the receipt of request {command.request_id}",
            f"it ended by its deadline within {index.elapsed(command)} ms",
            command.until,
            "wire" if given_up else "answer",
        )


def _nearly_over(index: Index, command: Command) -> list[int]:
    """The events at which little was left of the deadline of a call that still went on."""
    passed = ((c.seq, _since(index, command, c)) for c in index.clocks_within(command))
    return [seq for seq, ms in passed if DEADLINE_MS - NEARLY_MS <= ms < DEADLINE_MS - TICKS_MS]


def _waits(index: Index, command: Command) -> Iterator[Finding]:
    """A duplicate whose deadline never came, while the process of the original was at work on it throughout."""
    original = next((c for c in index.repetitions(command) if c.key is not None and made(index, c)), None)
    stood = any(f.command is original and f.action != "pause" for f in index.faults)
    if original is None or stood or not original.seq < command.seq < original.until or index.struck(command):
        return
    if _nearly_over(index, command):
        yield Met("wait-in-time")
    if index.elapsed(command) >= DEADLINE_MS - TICKS_MS or original.until < command.until:
        return
    # An original that is settled, though its caller has not been told, ends the wait with what became of it.
    late = too_late(index, original)
    if (late is not None and late < command.until) or set(states_before(index, original, command.until)) & TERMINAL:
        return
    if told_cause(command) == "timeout":
        yield Violation(
            f"request {command.request_id} waits for the original until {DEADLINE_MS} ms from its receipt are over",
            f"it was told of a timeout within {index.elapsed(command)} ms",
            command.until,
            "answer",
        )


def _given_up(index: Index, command: Command, connection: Connection) -> bool:
    """Whether a request was given up ahead of its answer, the call going on and nobody cancelling it."""
    within = connection.how == "abandoned" and connection.end_seq < command.until
    return within and not any(index.during(command, frozenset({"host.cancel"})))


def _beyond(index: Index, command: Command, late: int) -> Iterator[Finding]:
    """The deadline of this call came at an event."""
    stood = [f for f in index.faults if f.command is command and f.action == "pause"]
    for connection in index.connections_of(command):
        stalls = connection.seq < late < connection.end_seq
        if not stalls or any(f.seq > connection.seq for f in stood):
            continue
        before = index.clock_at(connection.seq)
        if before is not None and _since(index, command, before) >= _LATER_MS:
            yield Met("provider-stalls")
        after = next((c for c in index.clocks_within(command) if c.seq > late), None)
        if after is not None:
            yield Violation(
                f"an answer to request {command.request_id} once {DEADLINE_MS} ms from its receipt were over",
                "it still waited for the provider when time went on",
                after.seq,
                "answer",
            )
