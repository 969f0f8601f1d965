"""Which rows of the order of checks a history exercised: what decided each invocation, as far as evidence shows it.

The rows up to ``key_presence`` follow from configuration and request, those of the key from what the call met there,
those of a candidate from what it presents and from what struck it. A call that several rows could have decided counts
for the first, except that what strikes a call under way counts as well as the answer that it got.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from conformance.checkers.mutation.access import gone_before_a_replay, gone_in_a_wait
from conformance.checkers.mutation.boundary import unread
from conformance.checkers.mutation.cases import Case, used_before
from conformance.checkers.mutation.facts import TERMINAL, Command
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.moments import ABORT, GATE, PREPARE, SPEND, made, too_late
from conformance.checkers.mutation.rechecks import races
from conformance.checkers.mutation.slots import Meeting

_EQUAL: Final = {"Pending": "equal_pending", "Replayable": "equal_replayable", "Quarantined": "equal_quarantined"}
_STORE: Final = frozenset({"fail", "lose-ack"})
_STEPS: Final = {PREPARE: "anchor", SPEND: "spend", GATE: "gate"}


def precedence_rows(index: Index) -> Iterator[str]:
    """The rows of ``precedence`` for each invocation, in the order of the calls."""
    meetings = {m.command.seq: m for m in index.slots.claims}
    again = {command.seq for command, _ in gone_before_a_replay(index)}
    final = {command.seq for command, _ in gone_in_a_wait(index)}
    raced = {race.command.seq for race in races(index)}
    for case in index.cases:
        seq = case.command.seq
        if case.policy.first is not None:
            yield case.policy.first
        elif seq in again:
            yield "access_again"
        elif seq in final:
            yield "final_access"
        elif case.command.key and unread(index, case.command):
            yield "index_readable"
        elif seq in meetings:
            yield from _met(meetings[seq])
        elif seq in raced:
            yield "recheck"
        else:
            yield from _candidate(index, case)


def _met(meeting: Meeting) -> Iterator[str]:
    if not meeting.equal:
        yield "other_fingerprint"
    elif meeting.state in _EQUAL:
        yield _EQUAL[meeting.state]


def _candidate(index: Index, case: Case) -> Iterator[str]:
    """What stands between a candidate and its request, and what comes of that."""
    refusal = _refusal(index, case)
    if refusal is not None:
        yield refusal
        return
    command = case.command
    attempts = made(index, command)
    for fault in index.faults:
        if fault.command is command and fault.action in _STORE:
            yield from (_STEPS[change] for change in fault.changes if change in _STEPS)
            if any(entity == "mutation_attempt" and dest in TERMINAL for entity, _, dest in fault.changes):
                yield "terminal_record"
    if (too_late(index, command) is not None or _cancelled(index, command)) and any(
        (m.entity, m.source, m.dest) == ABORT for a in attempts for m in index.moves_of(a)
    ):
        yield "deadline_or_cancel"
    if any(not c.known for c in index.connections_of(command)):
        yield "provider_answer"


def _refusal(index: Index, case: Case) -> str | None:
    """What refuses a candidate ahead of everything durable."""
    policy = case.policy
    if policy.mode != "not_required":
        if not case.command.request.get("approval"):
            return "approval_presented"
        if case.presented is None or case.presented.fails:
            return "approval_verifies"
        if used_before(index, case):
            return "approval_unspent"
    if policy.credential != "ready":
        return "preflight"
    return "capacity" if _full(index, case.command) else None


def _full(index: Index, command: Command) -> bool:
    capacity = command.config.get("capacity", {})
    room = capacity.get("reservations") if isinstance(capacity, Mapping) else None
    before = index.rows_before(command.seq)
    if not command.key or not isinstance(room, int) or before is None:
        return False
    held = [r for r in (before.reservations or {}).values() if r.get("state") != "Expired"]
    return len(held) >= room


def _cancelled(index: Index, command: Command) -> bool:
    cancels = index.during(command, frozenset({"host.cancel"}))
    return any(c.args.get("request_id") == command.request_id for c in cancels)
