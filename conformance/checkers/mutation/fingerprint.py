"""What a fingerprint covers, seen by reusing a live key (KEY-034, KEY-035, KEY-038, KEY-046, REPLAY-041)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import Command
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.moments import DEADLINE_MS
from conformance.checkers.mutation.registry import CHECKERS
from conformance.checkers.mutation.slots import Meeting

CONFLICT: Final = "idempotency_conflict"
Judge = Callable[[Index], Iterator[Finding]]


def _one_axis(axis: str) -> Judge:
    """The judge of one coordinate: a request that differs in it alone conflicts with a known result under its key."""

    def judge(index: Index) -> Iterator[Finding]:
        for meeting in index.slots.meetings:
            if meeting.axes == {axis} and meeting.state == "Replayable":
                yield Met("reused")
                yield from _conflicts(index, meeting, f"another {axis}")

    return judge


for _requirement, _axis in (("KEY-034", "operation"), ("KEY-035", "connection"), ("KEY-038", "revision")):
    CHECKERS.checker(_requirement, "suite", "wire", "answer", "rows")(_one_axis(_axis))


def _conflicts(index: Index, meeting: Meeting, what: str) -> Iterator[Violation]:
    command = meeting.command
    allowed = f"idempotency_conflict for {command.request_id}: {what} under the live key {command.key}"
    if index.slots.undisturbed(command) and command.code != CONFLICT:
        told = command.code or command.classification
        yield Violation(allowed, f"the caller was told {told}", command.until, "answer")
    yield from no_work(index, command, allowed)


def _waited_in_vain(index: Index, command: Command) -> bool:
    """Whether a call that nothing kept up was told past its deadline, like a waiter, that the outcome is unknown."""
    if command.outcome != "done" or command.code != "outcome_unknown" or index.elapsed(command) < DEADLINE_MS:
        return False
    return not index.reconfigured(command) and not any(fault.command is command for fault in index.faults)


def no_work(index: Index, command: Command, allowed: str) -> Iterator[Violation]:
    """A violation if this call made an attempt of its own, or was seen at the remote."""
    connections = index.connections_of(command)
    if connections:
        yield Violation(allowed, f"{connections[0].proc} connected to the remote", connections[0].seq, "wire")
    elif index.linked and index.slots.own_attempts(command):
        attempt = index.slots.own_attempts(command)[0]
        yield Violation(allowed, f"it made attempt {attempt[-6:]}", index.slots.born[attempt], "rows")


@CHECKERS.checker("KEY-046", "suite", "wire", "answer", "rows")
def request_id_is_no_coordinate(index: Index) -> Iterator[Finding]:
    """The same request under another request id observes the original. What it hears then is for others to judge.

    A quarantined original is left to REPLAY-054.
    """
    for meeting in index.slots.meetings:
        command, generation = meeting.command, meeting.generation
        if not meeting.equal or command.request_id == generation.owner.request_id:
            continue
        if meeting.state in ("Pending", "Replayable"):
            yield Met(meeting.state.lower())
            if command.code == CONFLICT:
                yield Violation(
                    f"the original of {generation.owner.request_id} for the same request under another id",
                    "the caller was told idempotency_conflict",
                    command.until,
                    "answer",
                )


@CHECKERS.checker("REPLAY-041", "suite", "wire", "answer", "rows")
def another_request_conflicts_in_every_live_state(index: Index) -> Iterator[Finding]:
    """Whatever coordinate differs, in whatever live state: a conflict that shows nothing and is always alike.

    A call that lacks an approval or a credential as well is REPLAY-003's.
    """
    first: dict[Any, tuple[str, Command]] = {}
    for meeting in index.slots.meetings:
        if meeting.equal or not index.slots.at[meeting.command.seq].plain:
            continue
        if len(meeting.axes) == 1 and meeting.state != "Unresolved":
            yield Met(f"{meeting.state.lower()}-{next(iter(meeting.axes))}")
        yield from _conflicts(index, meeting, f"another {' and '.join(sorted(meeting.axes))}")
        command = meeting.command
        if _waited_in_vain(index, command):
            allowed = f"idempotency_conflict for {command.request_id}, which has nothing to wait for"
            yield Violation(allowed, "it waited for its deadline and was told outcome_unknown", command.until, "answer")
        if command.code != CONFLICT:
            continue
        shown = [command.told_attempt, command.mutation.get("original_request_id")]
        if any(shown) or command.mutation.get("replayed"):
            yield Violation(
                "a conflict that shows nothing of the original",
                f"it shows {next((s for s in shown if s), 'a replay')}",
                command.until,
                "answer",
            )
        said = json.dumps({k: v for k, v in command.result.items() if k != "request_id"}, sort_keys=True)
        other = first.setdefault(meeting.generation.at.namespace, (said, command))
        if other[0] != said:
            yield Violation(
                f"the same conflict for {command.request_id} as for {other[1].request_id}",
                "the two answers differ in more than the request id",
                command.until,
                "answer",
            )
