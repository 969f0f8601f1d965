"""What an admitted repetition of a settled invocation tells (OBS-006, OBS-050, OBS-051, OBS-052)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import TERMINAL, Command
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.observed import CLASSIFICATION, Replay, replays, wrong_answer
from conformance.checkers.mutation.registry import CHECKERS
from conformance.checkers.mutation.slots import UNSETTLED, Meeting

_AFTER = {
    "Completed": "after-success",
    "Failed": "after-refusal",
    "Aborted": "after-abort",
    "Indeterminate": "after-unknown",
}


@CHECKERS.checker("OBS-006", "suite", "wire", "answer", "rows")
def replay_names_its_original(index: Index) -> Iterator[Finding]:
    """A disclosed replay carries the attempt and the request id of the original, whoever asks under which id.

    A call that waited for its original and calls that a replay is one (waiter-replayed-flag).
    """
    for replay in replays(index):
        observer = replay.observer
        if index.connections_of(observer):
            continue
        yield Met(_AFTER[replay.state])
        if observer.mutation:
            attempt = replay.attempt or _id(replay.original.mutation.get("attempt"))
            yield from _names(observer, attempt, replay.original.request_id)
    for meeting in index.slots.meetings:
        observer, generation = meeting.command, meeting.generation
        if not _waited(index, meeting):
            continue
        yield Met("after-wait")
        attempt = generation.attempt or generation.owner.told_attempt
        if observer.mutation.get("replayed") is True and attempt:
            yield from _names(observer, attempt, generation.owner.request_id)


def _names(observer: Command, attempt: object, original: str) -> Iterator[Violation]:
    shown = (_id(observer.mutation.get("attempt")), observer.mutation.get("original_request_id"))
    if shown != (attempt, original):
        yield Violation(
            f"a replay of attempt {str(attempt)[-6:]}, made by {original}",
            f"the caller was shown attempt {str(shown[0])[-6:]} and original request {shown[1]}",
            observer.until,
            "answer",
        )


@CHECKERS.checker("REPLAY-019", "suite", "wire", "answer", "rows")
def replay_keeps_the_payload(index: Index) -> Iterator[Finding]:
    """A replay or a wait that says applied has the result of the original, as its own caller was told or, where nobody
    was, as the provider gave it.
    """
    answered = [(r.original, r.observer, False) for r in replays(index)]
    waited = [(m.generation.owner, m.command, True) for m in index.slots.meetings if _waited(index, m)]
    for original, observer, wait in (*answered, *waited):
        if observer.classification != "applied" or index.connections_of(observer):
            continue
        shown = observer.result.get("result")
        if original.classification == "applied":
            yield Met("after-wait" if wait else "told")
            wanted = original.result.get("result")
        else:
            made = next((c.identity for c in index.connections_of(original) if c.effect == "done"), None)
            if made is None or original.outcome == "done":
                continue
            yield Met("unheard")
            # What else the provider said is not in the evidence.
            wanted, shown = made, shown.get("id") if isinstance(shown, Mapping) else None
        if shown != wanted:
            yield Violation(
                f"the result of request {original.request_id} as it was, {wanted}",
                f"the replay has {shown}",
                observer.until,
                "answer",
            )


def _waited(index: Index, meeting: Meeting) -> bool:
    """Whether an exact request came while its original was under way and was answered in time, once that was over."""
    observer, generation = meeting.command, meeting.generation
    if not meeting.equal or meeting.state != "Pending" or not index.slots.undisturbed(observer):
        return False
    if index.connections_of(observer):
        return False
    if index.slots.by_rows:
        began = generation.attempt_state(observer.seq)
        return began in UNSETTLED and generation.attempt_state(index.seen_by(observer) + 1) in TERMINAL
    return generation.state(observer.until) == "Replayable"


def _id(attempt: object) -> object:
    return attempt.get("id") if isinstance(attempt, dict) else attempt


@CHECKERS.checker("OBS-050", "suite", "wire", "answer", "rows")
def replay_of_success_is_applied(index: Index) -> Iterator[Finding]:
    """An admitted replay of a Completed attempt says applied, and the attempt stays Completed."""
    for replay in replays(index):
        # A second request is judged by REPLAY-012; what it brought is no replay.
        if replay.state == "Completed" and not index.connections_of(replay.observer):
            yield from _same(index, replay, wants_error=False)


@CHECKERS.checker("OBS-051", "suite", "wire", "answer", "rows")
def replay_of_refusal_is_refused(index: Index) -> Iterator[Finding]:
    """An admitted replay of a Failed attempt says refused, sends nothing, and the attempt stays Failed."""
    for replay in replays(index):
        if replay.state == "Failed":
            yield from _same(index, replay, wants_error=True)
            yield from _sends_nothing(index, replay)


@CHECKERS.checker("OBS-052", "suite", "wire", "answer", "rows")
def replay_of_abort_is_not_attempted(index: Index) -> Iterator[Finding]:
    """An admitted replay of an Aborted attempt says not_attempted, sends nothing, and the attempt stays Aborted."""
    for replay in replays(index):
        if replay.state == "Aborted":
            yield from _same(index, replay, wants_error=True)
            yield from _sends_nothing(index, replay)


def _same(index: Index, replay: Replay, *, wants_error: bool) -> Iterator[Finding]:
    observer, classification = replay.observer, CLASSIFICATION[replay.state]
    yield Met("same-request-id" if observer.request_id == replay.original.request_id else "other-request-id")
    fits = observer.code not in (None, "outcome_unknown") if wants_error else observer.code is None
    if not index.connections_of(observer) and (observer.classification != classification or not fits):
        yield wrong_answer(f"{classification}, as the attempt that it repeats is {replay.state}", observer)
    rows = index.rows_after(observer.until) if replay.attempt is not None else None
    state = rows.state(replay.attempt) if rows is not None and replay.attempt is not None else None
    if rows is not None and state not in (None, replay.state):
        yield Violation(
            f"attempt {str(replay.attempt)[-6:]} stays {replay.state} when it is repeated",
            f"its row became {state}",
            rows.seq,
            "rows",
        )


def _sends_nothing(index: Index, replay: Replay) -> Iterator[Finding]:
    for connection in index.connections_of(replay.observer):
        yield Violation(
            f"no request for a repetition of a settled attempt ({replay.state})",
            f"{connection.proc} connected to the remote",
            connection.seq,
            "wire",
        )
