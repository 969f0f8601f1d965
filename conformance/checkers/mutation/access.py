"""Access to an original, ahead of its key, in the course of a replay, at the end of a wait.

REPLAY-016, REPLAY-017, REPLAY-047, REPLAY-057.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.coordinates import namespace_of
from conformance.checkers.mutation.facts import Command
from conformance.checkers.mutation.fingerprint import no_work
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS
from conformance.checkers.mutation.slots import Generation

#: What the policy calls the first check that refuses -> the cell.
_CHECKS: Final = {"bound_lookup": "withdrawn", "enablement": "disabled", "input_scope": "resource"}


def denial(index: Index, command: Command, seq: int) -> str | None:
    """In what respect the configuration in force at an event denies a call access to what it names, if it does.

    A description that went stale is another matter.
    """
    policy = command.under(index.config_at(seq))
    first = policy.first
    if first == "access":
        if policy.operation is None and policy.denial != "origin":
            return "withdrawn"
        return "caller" if policy.denial == "operation" else policy.denial
    return _CHECKS.get(first or "")


def _denied(command: Command) -> bool:
    """Whether an answer is an admission refusal: an error that carries no observation, and no word about a key."""
    return command.code is not None and not command.mutation and command.code != "idempotency_conflict"


def _refusal(command: Command, why: str, allowed: str) -> Iterator[Violation]:
    if not _denied(command):
        told = command.code or command.classification
        shown = " with an observation" if command.mutation else ""
        yield Violation(f"{allowed} ({why})", f"the caller was told {told}{shown}", command.until, "answer")


@CHECKERS.checker("REPLAY-016", "suite", "wire", "answer", "rows")
def access_is_checked_before_a_replay_is_told(index: Index) -> Iterator[Finding]:
    """Access that went while a call stood before a read of the store is gone when its replay would be told."""
    for command, lost in gone_before_a_replay(index):
        yield Met(lost)
        yield from _refusal(command, lost, f"a refusal of {command.request_id}, whose access is gone")


def gone_before_a_replay(index: Index) -> Iterator[tuple[Command, str]]:
    """The calls that have to be denied since their access went while they stood before a read, and in what respect.

    Where one stood at any other place its last check may be behind it.
    """
    stood = {f.command.seq: f.seq for f in index.faults if f.command is not None and _before_read(f.action, f.point)}
    for meeting in index.slots.meetings:
        command = meeting.command
        lost = denial(index, command, command.until)
        if not meeting.equal or meeting.state not in ("Replayable", "Quarantined") or lost is None:
            continue
        if command.outcome != "done" or index.slots.struck(command):
            continue
        changed = next((seq for seq, _ in index.configs if command.seq < seq < command.until), None)
        if changed is not None and stood.get(command.seq, changed) < changed:
            yield command, lost


def _before_read(action: str, point: str) -> bool:
    return action == "pause" and point.rpartition(":")[2] in ("read", "begin")


@CHECKERS.checker("REPLAY-017", "suite", "wire", "answer", "rows")
def access_is_checked_before_a_wait_ends(index: Index) -> Iterator[Finding]:
    """Access that went while a call waited for an original is gone when the original is settled."""
    for command, lost in gone_in_a_wait(index):
        yield Met(lost)
        yield from _refusal(command, lost, f"a refusal of {command.request_id}, whose access went while it waited")


def gone_in_a_wait(index: Index) -> Iterator[tuple[Command, str]]:
    """The calls that have to be denied since their access went while they waited, and in what respect."""
    for meeting in index.slots.meetings:
        command, generation = meeting.command, meeting.generation
        lost = denial(index, command, command.until)
        if not meeting.equal or meeting.state != "Pending" or lost is None or command.outcome != "done":
            continue
        changed = [seq for seq, _ in index.configs if command.seq < seq < command.until]
        ended = _ended(generation, command.seq)
        if changed and changed[-1] < ended < command.until and not index.slots.struck(command):
            yield command, lost


def _ended(generation: Generation, since: int) -> int:
    """The event in which the original was first seen settled; without rows, the end of its request."""
    states = generation.attempt_states or generation.states
    over = ("Completed", "Failed", "Indeterminate", "Aborted", "Replayable", "Unresolved")
    return next((seq for seq, state in states if seq > since and state in over), -1)


@CHECKERS.checker("REPLAY-047", "suite", "wire", "answer", "rows")
def no_access_no_disclosure(index: Index) -> Iterator[Finding]:
    """An exact request without access hears a refusal that says nothing of the original, and does nothing."""
    for command in index.invocations:
        lost = denial(index, command, command.seq)
        if lost is None or command.outcome != "done" or index.reconfigured(command) or not _held(index, command):
            continue
        yield Met(lost)
        yield from _refusal(command, lost, f"a refusal of {command.request_id} that says nothing of its original")
        yield from no_work(index, command, f"no work for {command.request_id}, which is not admitted")


def _held(index: Index, command: Command) -> bool:
    """Whether the caller's key is held; where the call comes through an origin, by what came through it."""
    if not command.key or not command.config:
        return False
    place = namespace_of(command.under(command.config))
    return any(g.at.namespace == place and g.holds(command.seq) for g in index.slots.under(command.key))


@CHECKERS.checker("REPLAY-057", "suite", "wire", "answer", "rows")
def a_used_key_looks_like_a_fresh_one(index: Index) -> Iterator[Finding]:
    """Who may invoke but not see results hears one and the same refusal, whatever became of the key before."""
    first: dict[str, tuple[str, Command]] = {}
    for command in index.invocations:
        policy = command.under(command.config) if command.config else None
        unseen = policy is not None and policy.refusals == ("access",) and policy.denial == "result"
        if policy is None or not unseen or not command.key or command.outcome != "done" or index.reconfigured(command):
            continue
        place = namespace_of(policy)
        held = [g for g in index.slots.under(command.key) if g.at.namespace == place and g.holds(command.seq)]
        if held and held[-1].holds(command.seq) != "Unresolved":
            same = all(policy.coordinates[axis] == value for axis, value in held[-1].at.fingerprint.items())
            yield Met(f"{str(held[-1].holds(command.seq)).lower()}-{'exact' if same else 'other'}")
        elif not held:
            yield Met("fresh")
        allowed = f"a plain refusal of {command.request_id}"
        yield from _refusal(command, "result", allowed)
        yield from no_work(index, command, allowed)
        said = json.dumps({k: v for k, v in command.result.items() if k != "request_id"}, sort_keys=True)
        other = first.setdefault(str(place), (said, command))
        if other[0] != said:
            allowed = f"the same refusal for {command.request_id} as for {other[1].request_id}"
            yield Violation(allowed, "the two differ in more than the request id", command.until, "answer")
