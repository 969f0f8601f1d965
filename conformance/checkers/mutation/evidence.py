"""What a provider's answer proves, and what it does not (OBS-021, OBS-022, OBS-045, OBS-046, OBS-049).

All of it shows in what reached the remote and what the caller was told; rows are judged where there are any.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met
from conformance.checkers.mutation.facts import Command, Connection
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.observed import (
    UNKNOWN,
    only_answer,
    told,
    undisturbed,
    wrong_answer,
    wrong_row,
)
from conformance.checkers.mutation.registry import CHECKERS


@CHECKERS.checker("OBS-021", "suite", "wire", "answer", "rows")
def clean_exchange_proves_no_effect(index: Index) -> Iterator[Finding]:
    """A complete answer with a status of success that names no effect is not applied, nor Completed in the row."""
    for command, answer in _unproven(index):
        if not 200 <= (answer.status or 0) < 300:
            continue
        yield Met("answered")
        if command.classification == "applied":
            yield wrong_answer(f"not applied: status {answer.status} alone proves no effect", command)
        for attempt in _opened(index, command):
            yield Met("recorded")
            yield from wrong_row(index, attempt, "is not Completed by a status alone", _ALL - {"Completed"})


@CHECKERS.checker("OBS-022", "suite", "wire", "answer", "rows")
def error_status_proves_no_refusal(index: Index) -> Iterator[Finding]:
    """A bare 4xx, also the status of definite refusals without its body, is not refused, nor Failed in the row."""
    for command, answer in _unproven(index):
        if not 400 <= (answer.status or 0) < 500:
            continue
        yield Met("unprocessable" if answer.status == 422 else "client-error")
        if command.classification == "refused":
            yield wrong_answer(f"not refused: status {answer.status} alone proves no absence of an effect", command)
        for attempt in _opened(index, command):
            yield Met("recorded")
            yield from wrong_row(index, attempt, "is not Failed by a status alone", _ALL - {"Failed"})


@CHECKERS.checker("OBS-049", "suite", "wire", "answer")
def failing_answer_is_told_as_unknown(index: Index) -> Iterator[Finding]:
    """A complete answer that leaves the effect open is told as unknown with outcome_unknown, whatever its status.

    A status taken for success or refusal is named by OBS-021 and OBS-022.
    """
    for command, answer in _unproven(index):
        status = answer.status or 0
        yield Met("server-error" if status >= 500 else "client-error" if status >= 400 else "no-meaning")
        named = {"applied": 200 <= status < 300, "refused": 400 <= status < 500}
        if told(command) != UNKNOWN and not named.get(str(command.classification), False):
            yield wrong_answer(f"unknown with outcome_unknown after status {status} without a known effect", command)


@CHECKERS.checker("OBS-045", "suite", "wire", "answer", "rows")
def definite_success_is_applied(index: Index) -> Iterator[Finding]:
    """The provider's definite success is told as applied without an error, and nothing else is recorded of it."""
    yield from _definite(index, "done", "applied", "Completed")


@CHECKERS.checker("OBS-046", "suite", "wire", "answer", "rows")
def definite_refusal_is_refused(index: Index) -> Iterator[Finding]:
    """The provider's definite refusal is told as refused with an error, and nothing else is recorded of it."""
    yield from _definite(index, "none", "refused", "Failed")


_ALL = frozenset({"Prepared", "Dispatching", "Completed", "Failed", "Indeterminate", "Aborted"})


def _opened(index: Index, command: Command) -> list[str]:
    return [a for a in index.attempts_of(command) if index.opened(a)]


def _unproven(index: Index) -> Iterator[tuple[Command, Connection]]:
    """Each invocation that heard one complete answer which proves nothing."""
    for command in index.invocations:
        answer = only_answer(index, command)
        if answer is not None and answer.how == "answered" and answer.effect == "unknown":
            yield command, answer


def _definite(index: Index, effect: str, classification: str, state: str) -> Iterator[Finding]:
    """What an undisturbed live observer says of a definite answer; failing stores are for OBS-057 and OBS-058."""
    for command in index.invocations:
        answer = only_answer(index, command)
        if answer is None or not answer.known or answer.effect != effect or not undisturbed(index, command):
            continue
        if index.linked and not index.attempts_of(command):
            # A request without an attempt is judged by MUT-009, and its answer is nobody's outcome.
            continue
        yield Met("keyed" if command.key else "unkeyed")
        fits = (command.code is None) if effect == "done" else command.code not in (None, "outcome_unknown")
        if command.classification != classification or not fits:
            with_what = "no error" if effect == "done" else "an error other than outcome_unknown"
            yield wrong_answer(f"{classification} with {with_what}, after the provider's definite answer", command)
        for attempt in _opened(index, command):
            yield Met("recorded")
            # Without trusted time a host may hold the settlement back, and recovery may then end it.
            if all(c.trusted for c in index.clocks):
                allowed = frozenset({state, "Dispatching"})
                yield from wrong_row(index, attempt, f"is {state} once it is settled", allowed)
