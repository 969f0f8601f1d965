"""What several checkers ask of a mutation-host history: whose attempt, where it stood, when it was too late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from conformance.checkers.mutation.facts import Command, Connection, Fault
from conformance.checkers.mutation.index import Index

PREPARE: Final = ("mutation_attempt", None, "Prepared")
GATE: Final = ("mutation_attempt", "Prepared", "Dispatching")
SPEND: Final = ("approval", None, "Spent")
ABORT: Final = ("mutation_attempt", "Prepared", "Aborted")
#: The service deadline that the suite configures, in ms of elapsed time.
DEADLINE_MS: Final = 20_000


def made(index: Index, command: Command) -> list[str]:
    """The attempts that this very invocation made; a caller who repeats a request id made none of them."""
    return [a for a in index.attempts_of(command) if index.owner(a) is command]


def states_before(index: Index, command: Command, seq: int) -> list[str]:
    """Where the attempts of an invocation stood in the last snapshot before an event."""
    rows = index.rows_before(seq)
    found = (rows.state(a) for a in made(index, command)) if rows else ()
    return [s for s in found if s is not None]


def state_after(index: Index, attempt: str, seq: int) -> str | None:
    """Where an attempt stood in the first snapshot after an event."""
    rows = index.rows_after(seq)
    return rows.state(attempt) if rows else None


def state_in_the_end(index: Index, attempt: str) -> str | None:
    """Where an attempt stood in the last snapshot."""
    return index.rows[-1].state(attempt) if index.rows else None


def too_late(index: Index, command: Command) -> int | None:
    """The event with which the service deadline of an open invocation passed; None when it never did."""
    began = index.clock_at(command.seq)
    if began is None:
        return None
    for clock in index.clocks_within(command):
        if clock.mono_ms - began.mono_ms >= DEADLINE_MS:
            return clock.seq
    return None


def of_invocations(index: Index, change: tuple[str, str | None, str | None], action: str) -> Iterator[Fault]:
    """The faults of one kind that struck, in an invocation, the transaction that makes this change."""
    for fault in index.faults:
        if fault.action == action and change in fault.changes and fault.command is not None and fault.command.invokes:
            yield fault


def call_of(fault: Fault) -> str:
    """The kind of port call that was struck: begin, write, commit, committed …"""
    return fault.point.rpartition(":")[2]


def duplicates(index: Index, original: Command, since: int) -> Iterator[Command]:
    """Exact duplicates of a keyed invocation that came after an event and made no attempt of their own.

    Once the retention is over, whoever makes a new attempt takes the key over, and who comes later repeats that one.
    """
    if original.key is None:
        return
    mine = next((g for g in index.slots.generations.values() if g.owner is original), None)
    for command in index.repetitions(original):
        if command.seq > since and not made(index, command):
            yield command
        elif command.seq > since and mine is not None and not index.slots.within_retention(mine, command.until):
            return


def told(command: Command) -> str:
    """What a caller was told, for a sentence."""
    return f"the caller was told {command.classification} with {command.code or 'success'}"


def told_cause(command: Command) -> str:
    """The cause of an answer in lower case, or the empty string."""
    mutation = command.result.get("mutation")
    cause = mutation.get("cause") if isinstance(mutation, Mapping) else None
    return str(cause or "").lower()


def of_cancel(index: Index, cancel: Command) -> list[str]:
    """The attempts that a cancel speaks of: those of its caller under its request id."""
    caller = cancel.args["context"].get("caller")
    named = index.attempts_under(cancel.args["request_id"])
    return [a for a in named if index.attempts[a].get("caller") in (None, caller)]


def after(connections: list[Connection], seq: int) -> Iterator[Connection]:
    """Those that were opened after an event."""
    return (c for c in connections if c.seq > seq)
