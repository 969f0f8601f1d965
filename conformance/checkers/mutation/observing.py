"""Observing an original under its live key (REPLAY-002, REPLAY-008, REPLAY-013, REPLAY-054, REPLAY-055)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.coordinates import Coordinates
from conformance.checkers.mutation.facts import TERMINAL, Command
from conformance.checkers.mutation.fingerprint import CONFLICT, no_work
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS
from conformance.checkers.mutation.slots import RETENTION_MS, UNSETTLED, Generation, Meeting

_SETTLERS: Final = frozenset({"recover", "host.cancel"})
CLASSES: Final = {"Completed": "applied", "Failed": "refused", "Aborted": "not_attempted", "Indeterminate": "unknown"}


@CHECKERS.checker("REPLAY-002", "suite", "wire", "answer", "rows")
def a_matching_record_never_dispatches(index: Index) -> Iterator[Finding]:
    """Whatever became of the original, an exact request under its live key makes no attempt and sends nothing.

    A quarantined key past the retention is left to REPLAY-055.
    """
    for meeting in index.slots.meetings:
        if not meeting.equal or (meeting.state == "Quarantined" and _overdue(index, meeting)):
            continue
        state = meeting.generation.attempt_state(meeting.command.seq)
        if meeting.state == "Replayable" and state in CLASSES:
            yield Met(f"replayable-{state.lower()}")
        elif meeting.state in ("Pending", "Quarantined"):
            yield Met(meeting.state.lower())
        allowed = f"{meeting.command.request_id} only observes {meeting.generation.owner.request_id} under its live key"
        yield from no_work(index, meeting.command, allowed)


@CHECKERS.checker("REPLAY-055", "suite", "wire", "answer", "rows")
def quarantine_outlives_the_retention(index: Index) -> Iterator[Finding]:
    """An exact request under a quarantined key sends nothing and hears unknown, however much time has passed."""
    for meeting in index.slots.claims:
        if not meeting.equal or meeting.state != "Quarantined" or not _overdue(index, meeting):
            continue
        command = meeting.command
        yield Met("untrusted" if _untrusted(index, command) else "trusted")
        allowed = f"no work for {command.request_id}: its key is quarantined for ever"
        yield from no_work(index, command, allowed)
        if index.slots.undisturbed(command) and command.classification not in ("unknown", None):
            yield Violation(allowed, f"the caller was told {command.classification}", command.until, "answer")


def _overdue(index: Index, meeting: Meeting) -> bool:
    """Whether by the wall clock, trusted or not, a day has passed since the generation was seen."""
    born, now = index.clock_at(meeting.generation.born), index.clock_at(meeting.command.seq)
    return born is not None and now is not None and now.wall_ms - born.wall_ms >= RETENTION_MS


def _untrusted(index: Index, command: Command) -> bool:
    now = index.clock_at(command.seq)
    return now is not None and not now.trusted


@CHECKERS.checker("REPLAY-054", "suite", "wire", "answer", "rows")
def quarantined_is_observed_as_unknown(index: Index) -> Iterator[Finding]:
    """An exact request under a quarantined key hears ``unknown`` of the original, by its id."""
    for meeting in index.slots.meetings:
        command = meeting.command
        if not meeting.equal or meeting.state != "Quarantined":
            continue
        yield Met("exact")
        if not index.slots.undisturbed(command):
            continue
        told = (command.classification, command.code, command.told_attempt)
        if told != ("unknown", "outcome_unknown", meeting.generation.attempt):
            of = f"of {told[2][-6:]}" if told[2] else "without an id"
            yield Violation(
                f"unknown with outcome_unknown, of attempt {meeting.generation.attempt[-6:]}",
                f"the caller was told {told[0]} with {told[1] or 'success'} {of}",
                command.until,
                "answer",
            )


@CHECKERS.checker("REPLAY-013", "suite", "wire", "answer", "rows")
def the_loser_waits_for_the_terminal_record(index: Index) -> Iterator[Finding]:
    """An exact request that comes while the original is open is answered once that is settled, and with its class.

    So is one that missed and lost its key to the original in its course.

    Its own deadline, a cancel or a store that fails may end the wait before; a conflict is left to KEY-046.
    """
    for meeting in index.slots.meetings:
        command, generation = meeting.command, meeting.generation
        if not meeting.equal or meeting.state != "Pending" or not index.slots.undisturbed(command):
            continue
        if index.slots.by_rows:
            if generation.attempt_state(command.seq) not in UNSETTLED:
                continue
            state = generation.attempt_state(index.seen_by(command) + 1)
        elif any(c.cmd in _SETTLERS and generation.born < c.seq < command.until for c in index.commands):
            # Without rows nobody can say what recovery or a cancel has settled.
            continue
        else:
            state = generation.state(command.until)
        if command.code == CONFLICT:
            continue
        if state in TERMINAL:
            yield Met(str(state).lower())
        yield from _hears(command, generation, state)
    for command, place, winner in _lost(index) if index.slots.by_rows else ():
        if place.differing(winner.at) or index.slots.own_attempts(command) or not index.slots.undisturbed(command):
            continue
        state = winner.attempt_state(index.seen_by(command) + 1)
        if command.code != CONFLICT:
            if state in TERMINAL:
                yield Met("lost-race")
            yield from _hears(command, winner, state)


def _hears(command: Command, generation: Generation, state: str | None) -> Iterator[Violation]:
    """Violations of: the original is settled once this is answered, and the answer has its class."""
    told = command.classification
    open_yet = state in UNSETTLED or state == "Pending"
    if open_yet or (state in CLASSES and told != CLASSES[state]):
        yield Violation(
            f"{command.request_id} waits for {generation.owner.request_id} and hears its class",
            f"the caller was told {told or command.code} while the original was {state}",
            command.until,
            "answer",
        )


@CHECKERS.checker("REPLAY-008", "suite", "wire", "answer", "rows")
def a_candidate_that_lost_becomes_an_observer(index: Index) -> Iterator[Finding]:
    """Of two candidates that both missed, the one that did not reserve makes no attempt and observes or conflicts.

    What comes of it where approvals or credentials are asked for is left to REPLAY-028 and its neighbours.
    """
    slots = index.slots
    for command, place, winner in _lost(index):
        seen = index.seen_by(command)
        axes = place.differing(winner.at)
        yield Met("different" if axes else "equal")
        allowed = f"{command.request_id} goes back to the key, which {winner.owner.request_id} has reserved meanwhile"
        later = [a for a in slots.own_attempts(command) if slots.born[a] >= winner.born]
        if later and index.linked:
            yield Violation(allowed, f"it made attempt {later[0][-6:]}", slots.born[later[0]], "rows")
        elif slots.undisturbed(command) and not _observes(command, winner, bool(axes), seen):
            told = command.code or command.classification
            yield Violation(allowed, f"the caller was told {told}", command.until, "answer")


def _lost(index: Index) -> Iterator[tuple[Command, Coordinates, Generation]]:
    """The candidates that need neither approval nor credential, missed, and lost their key to another's generation."""
    slots = index.slots
    for command, place in slots.keyed():
        if any(g.holds(command.seq) for g in slots.of(place)):
            continue
        winner = next(
            (g for g in slots.of(place) if g.owner is not command and command.seq < g.born < command.until), None
        )
        if winner is None or any(g.owner is command and g.born < winner.born for g in slots.of(place)):
            continue
        if slots.within_retention(winner, command.until) and not index.reconfigured(command) and place.plain:
            yield command, place, winner


def _observes(command: Command, winner: Generation, different: bool, seen: int) -> bool:
    """Whether an answer is what the boundary of the key says; an exact request that hears a conflict is KEY-046's."""
    if command.code == CONFLICT or different:
        return command.code == CONFLICT
    state = winner.attempt_state(seen + 1)
    return command.classification == "unknown" or command.classification == CLASSES.get(state or "")
