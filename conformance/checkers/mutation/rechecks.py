"""Keys against approvals, claims and credentials: which of them decides, and when.

REPLAY-003, REPLAY-005, REPLAY-006, REPLAY-023 of a key that is held when the call comes; REPLAY-028, REPLAY-030,
REPLAY-032, REPLAY-036, REPLAY-037, REPLAY-038 of a candidate that missed and would be refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.access import denial
from conformance.checkers.mutation.facts import Command
from conformance.checkers.mutation.fingerprint import CONFLICT, no_work
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.observing import CLASSES
from conformance.checkers.mutation.policy import Policy
from conformance.checkers.mutation.registry import CHECKERS
from conformance.checkers.mutation.slots import Generation, Meeting

_APPROVAL: Final = frozenset({"approval_required", "approval_refused"})


def _policy(index: Index, command: Command, seq: int) -> Policy:
    return command.under(index.config_at(seq))


def _reference(command: Command) -> str | None:
    approval = command.request.get("approval")
    return approval.get("reference") if isinstance(approval, Mapping) else None


def _spent(index: Index, seq: int) -> Counter[tuple[Any, Any]]:
    """How often each attempt has spent each reference in the last snapshot up to an event."""
    rows = index.rows_before(seq + 1)
    return Counter((s.get("attempt"), s.get("reference")) for s in (rows.spends if rows is not None else None) or ())


def _guarded(index: Index, meeting: Meeting) -> Policy | None:
    """The policy of a call whose operation needs an approval or claim; None for any other."""
    policy = _policy(index, meeting.command, meeting.command.seq)
    return policy if policy.mode != "not_required" else None


@CHECKERS.checker("REPLAY-003", "suite", "wire", "answer", "rows")
def conflict_comes_before_approval_and_credential(index: Index) -> Iterator[Finding]:
    """Another request under a live key conflicts, though it lacks its approval or its credential is not ready."""
    for meeting in index.slots.meetings:
        command = meeting.command
        policy = _policy(index, command, command.seq)
        clock = index.clock_at(command.seq)
        lacking = policy.mode != "not_required" and policy.presented(clock.wall_ms if clock else 0) is None
        if meeting.equal or not (lacking or policy.credential != "ready"):
            continue
        if lacking:
            yield Met("unapproved-pending" if meeting.state == "Pending" else "unapproved")
        else:
            yield Met("unready")
        allowed = f"idempotency_conflict for {command.request_id}, whatever else it lacks"
        if index.slots.undisturbed(command) and command.code != CONFLICT:
            yield Violation(allowed, command.told, command.until, "answer")
        yield from no_work(index, command, allowed)


@CHECKERS.checker("REPLAY-005", "suite", "wire", "answer", "rows")
def observers_need_no_approval(index: Index) -> Iterator[Finding]:
    """Whoever observes an original is not asked for an approval: none, a bad, a foreign and a lapsed one do alike."""
    for meeting in index.slots.meetings:
        policy = _guarded(index, meeting)
        command = meeting.command
        if policy is None or not meeting.equal:
            continue
        cell = _presents(index, policy, command)
        if cell is not None:
            yield Met(f"wait-{cell}" if meeting.state == "Pending" else cell)
        if command.code in _APPROVAL and not _repeats(index, meeting):
            allowed = f"what became of {meeting.generation.owner.request_id}: no approval is looked at"
            yield Violation(allowed, command.told, command.until, "answer")


def _repeats(index: Index, meeting: Meeting) -> bool:
    """Whether such a refusal is the original's own outcome: it was aborted when it could not spend."""
    command = meeting.command
    aborted = meeting.generation.attempt_state(index.seen_by(command) + 1) == "Aborted"
    return aborted or command.code == meeting.generation.owner.code


def _presents(index: Index, policy: Policy, command: Command) -> str | None:
    """What is wrong with what a request presents; None for a proof that would verify."""
    clock = index.clock_at(command.seq)
    presented = policy.presented(clock.wall_ms if clock else 0)
    if _reference(command) is None:
        return "none"
    if presented is None:
        return None
    if "evidence" in presented.fails:
        return "invalid"
    if "expiry" in presented.fails:
        return "expired"
    return "foreign" if presented.fails else None


@CHECKERS.checker("REPLAY-006", "suite", "wire", "answer", "rows")
def the_original_approval_is_not_redeemed_again(index: Index) -> Iterator[Finding]:
    """A replay or a wait that presents the original's approval hears the original, and nothing more is spent."""
    for meeting in index.slots.meetings:
        command, owner = meeting.command, meeting.generation.owner
        if _guarded(index, meeting) is None or not meeting.equal or _reference(command) is None:
            continue
        if _reference(command) != _reference(owner):
            continue
        yield Met("wait" if meeting.state == "Pending" else "replay")
        allowed = f"what became of {owner.request_id}, without another look at {_reference(owner)}"
        if command.code == "approval_replayed" and not _repeats(index, meeting):
            yield Violation(allowed, command.told, command.until, "answer")
        more = _more_spent(index, meeting)
        if any(reference == _reference(owner) for _, reference in more):
            yield Violation(allowed, f"{_reference(owner)} was spent once more", index.seen_by(command), "rows")


def _more_spent(index: Index, meeting: Meeting) -> frozenset[tuple[Any, Any]]:
    """What was spent while a call observed, the original's own spend not counted: that is one, and not two."""
    command = meeting.command
    if not index.rows or index.seen_by(command) > index.rows[-1].seq:
        return frozenset()
    before = _spent(index, command.seq)
    own = (meeting.generation.attempt, _reference(meeting.generation.owner))
    before[own] = max(before[own], 1)
    return frozenset(_spent(index, index.seen_by(command)) - before)


@CHECKERS.checker("REPLAY-023", "suite", "wire", "answer", "rows")
def a_replay_spends_no_other_claim(index: Index) -> Iterator[Finding]:
    """The original's evidence may be over, and what a replay presents instead stays unspent."""
    for meeting in index.slots.meetings:
        policy = _guarded(index, meeting)
        command, owner = meeting.command, meeting.generation.owner
        mine, its = _reference(command), _reference(owner)
        clock = index.clock_at(command.seq)
        if policy is None or not meeting.equal or mine in (None, its) or clock is None:
            continue
        presented = policy.presented(clock.wall_ms)
        original = owner.under(command.config).presented(clock.wall_ms)
        over = original is None or "expiry" in original.fails
        if presented is not None and not presented.fails and over:
            yield Met("other-claim")
        allowed = f"what became of {owner.request_id}, with {mine} unspent"
        if any(reference == mine for _, reference in _more_spent(index, meeting)):
            yield Violation(allowed, f"{mine} was spent", index.seen_by(command), "rows")
        refused = command.code in ("approval_refused", "approval_replayed") and not _repeats(index, meeting)
        if refused and presented is not None and not presented.fails:
            yield Violation(allowed, command.told, command.until, "answer")


@dataclass(frozen=True, slots=True)
class Race:
    """A candidate that missed, a winner that reserved its key meanwhile, and what the candidate would be refused for.

    ``cause`` is ``spent`` by the winner, ``refused`` or ``unready`` by a configuration that came after the winner: in
    each case the refusal is certainly decided after the reservation.
    """

    command: Command
    winner: Generation
    axes: frozenset[str]
    cause: str


def races(index: Index) -> Iterator[Race]:
    """Every such race of a history."""
    slots = index.slots
    for command, place in slots.keyed():
        if any(g.holds(command.seq) for g in slots.of(place)) or slots.own_attempts(command):
            continue
        winner = next((g for g in slots.of(place) if command.seq < g.born < command.until), None)
        if winner is None or winner.owner is command:
            continue
        cause = _cause(index, command, winner)
        if cause is not None:
            yield Race(command, winner, place.differing(winner.at), cause)


def _cause(index: Index, command: Command, winner: Generation) -> str | None:
    before, after = _policy(index, command, winner.born), _policy(index, command, command.until)
    if before.mode == "not_required":
        return None
    clock = index.clock_at(command.seq)
    wall = clock.wall_ms if clock else 0
    held, left = before.presented(wall), after.presented(wall)
    if held is None or held.fails or before.credential != "ready":
        return None
    if left is None or left.fails:
        return "refused"
    if after.credential != "ready":
        return "unready"
    return "spent" if _spent(index, index.seen_by(command))[winner.attempt, _reference(command)] else None


def _observed(command: Command, race: Race, index: Index) -> bool:
    """Whether the answer is an observation of the winner."""
    state = race.winner.attempt_state(index.seen_by(command) + 1)
    told = command.classification
    own = command.code in _REFUSALS and command.told_attempt != race.winner.attempt
    return not own and (told == "unknown" or told == CLASSES.get(state or ""))


_REFUSALS: Final = frozenset({*_APPROVAL, "approval_replayed"})


@CHECKERS.checker("REPLAY-028", "suite", "wire", "answer", "rows")
def a_refusal_is_decided_at_the_index(index: Index) -> Iterator[Finding]:
    """A candidate whose claim lapsed, or whose credential went, after an exact winner reserved: it observes the winner.

    A claim that the winner spent is REPLAY-038's.
    """
    for race in races(index):
        if race.axes or race.cause == "spent" or denial(index, race.command, race.command.until) is not None:
            continue
        yield Met(race.cause)
        if _answered(index, race.command) and not _observed(race.command, race, index):
            allowed = (
                f"what became of {race.winner.owner.request_id}, which reserved before {race.command.request_id} was"
            )
            yield Violation(f"{allowed} {race.cause}", race.command.told, race.command.until, "answer")


def _answered(index: Index, command: Command) -> bool:
    return command.outcome == "done" and not index.slots.struck(command)


@CHECKERS.checker("REPLAY-030", "suite", "wire", "answer", "rows")
def a_rival_at_the_index_is_a_conflict(index: Index) -> Iterator[Finding]:
    """A candidate that would be refused, and whose key another request has reserved before that: a safe conflict."""
    for race in races(index):
        if not race.axes or denial(index, race.command, race.command.until) is not None:
            continue
        yield Met("rival")
        if _answered(index, race.command) and race.command.code != CONFLICT:
            allowed = f"idempotency_conflict for {race.command.request_id}"
            yield Violation(allowed, race.command.told, race.command.until, "answer")
        shown = [race.command.told_attempt, race.command.mutation.get("original_request_id")]
        if race.command.code == CONFLICT and any(shown):
            yield Violation("a conflict that shows nothing", f"it shows {shown}", race.command.until, "answer")


@CHECKERS.checker("REPLAY-037", "suite", "wire", "answer", "rows")
def no_winner_rescues_who_lost_access(index: Index) -> Iterator[Finding]:
    """A candidate that would be refused, with a winner to observe, and without access by then: a plain refusal.

    What it would be refused for came with the loss of access, behind the winner: whatever it says was decided later.
    Without a winner its own refusal is decided later as well, as long as it is that one which it hears: so it hears
    the same, and cannot tell a key that is held from a free one.
    """
    for command, cell in _refused_and_revoked(index):
        yield Met(cell)
        if _answered(index, command) and _hears_its_refusal(command, cell):
            allowed = f"an admission refusal of {command.request_id}, without an observation"
            yield Violation(allowed, command.told, command.until, "answer")
    for race in races(index):
        lost = denial(index, race.command, race.command.until)
        if lost is None or race.axes:
            continue
        yield Met("revoked")
        if _answered(index, race.command) and (race.command.mutation or race.command.code in (None, CONFLICT)):
            allowed = f"an admission refusal of {race.command.request_id}, without an observation"
            yield Violation(allowed, race.command.told, race.command.until, "answer")


def _hears_its_refusal(command: Command, cell: str) -> bool:
    """Whether a candidate that made no attempt is told what it lost together with its access."""
    if cell == "free":
        return command.code in _APPROVAL
    return command.code == "unavailable" and command.classification == "not_attempted" and not command.told_attempt


def _refused_and_revoked(index: Index) -> Iterator[tuple[Command, str]]:
    """Candidates under a free key that did nothing, whose access went with their proof or credential, as a cell.

    One configuration took both, so that a refusal for the one was decided when the other was gone as well.
    """
    slots = index.slots
    for command, place in slots.keyed():
        changed = next((seq for seq, _ in index.configs if command.seq < seq < command.until), None)
        if changed is None or not slots.free(command, place) or slots.own_attempts(command):
            continue
        before = _policy(index, command, changed)
        after = _policy(index, command, command.until)
        clock = index.clock_at(command.seq)
        wall = clock.wall_ms if clock else 0
        held, left = before.presented(wall), after.presented(wall)
        if before.mode == "not_required" or held is None or held.fails or before.credential != "ready":
            continue
        if denial(index, command, command.until) is None:
            continue
        if left is None or left.fails:
            yield command, "free"
        elif after.credential != "ready":
            yield command, "unready"


@CHECKERS.checker("REPLAY-038", "suite", "wire", "answer", "rows")
def the_winner_that_spent_the_shared_claim_is_observed(index: Index) -> Iterator[Finding]:
    """B missed, A reserved and spent the claim that both present: B observes A, whose request and spend stay alone."""
    for race in races(index):
        command = race.command
        if race.axes or race.cause != "spent" or denial(index, command, command.until) is not None:
            continue
        yield Met("shared-claim")
        allowed = f"what became of {race.winner.owner.request_id}, which spent the claim that both present"
        if _answered(index, command) and not _observed(command, race, index):
            yield Violation(allowed, command.told, command.until, "answer")
        yield from no_work(index, command, allowed)


@CHECKERS.checker("REPLAY-036", "suite", "wire", "answer", "rows")
def an_unreadable_index_leaves_it_unknown(index: Index) -> Iterator[Finding]:
    """A candidate that would be refused while the store stays down: unknown, with the ledger's cause and no ids."""
    down = {f.command.seq for f in index.faults if f.command is not None and f.outage and f.action == "fail"}
    for command, place in index.slots.keyed():
        policy = _policy(index, command, command.seq)
        if command.seq not in down or policy.mode == "not_required" or _reference(command) is not None:
            continue
        held = [g for g in index.slots.of(place) if g.holds(command.seq) and g.owner is not command]
        yield Met("held" if held else "free")
        told = (command.classification, command.code, command.mutation.get("cause"))
        shown = command.told_attempt or command.mutation.get("original_request_id")
        declared = index.readings.get("first-lookup-unavailable") == "not-attempted" and not held
        if command.outcome != "done" or (declared and command.classification == "not_attempted"):
            continue
        if told[:2] != ("unknown", "outcome_unknown") or str(told[2]).lower() != "unavailable" or shown:
            allowed = "unknown with outcome_unknown, for the cause unavailable and without ids"
            yield Violation(allowed, f"{command.told}, cause {told[2]}", command.until, "answer")


@CHECKERS.checker("REPLAY-032", "suite", "wire", "answer", "rows")
def a_refusal_stands_or_the_winner_is_observed(index: Index) -> Iterator[Finding]:
    """A candidate that lacks its claim, and a winner that comes in its course: its refusal, or the winner; no third.

    Where the last look at the index stands does not show from outside, so that both are right.
    """
    slots = index.slots
    for command, place in slots.keyed():
        policy = _policy(index, command, command.seq)
        if policy.mode == "not_required" or _reference(command) is not None or not slots.undisturbed(command):
            continue
        winner = next((g for g in slots.of(place) if command.seq < g.born < command.until), None)
        if winner is None or any(g.holds(command.seq) for g in slots.of(place)) or place.differing(winner.at):
            continue
        yield Met("winner-in-its-course")
        # What a missing event claim is called is open (approval-required-for-event-claim).
        codes = _APPROVAL if policy.mode == "event_claim" else {"approval_required"}
        refused = command.code in codes and not command.told_attempt
        state = winner.attempt_state(index.seen_by(command) + 1)
        if not refused and command.classification != CLASSES.get(state or "", "unknown"):
            allowed = f"a refusal of {command.request_id}, or what became of {winner.owner.request_id}"
            yield Violation(allowed, command.told, command.until, "answer")
        yield from no_work(index, command, f"no attempt of {command.request_id}, which lacks its claim")
