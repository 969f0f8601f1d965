"""The form of observations and of error codes (OBS-002, OBS-016)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import Command
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.keys import ANCHOR
from conformance.checkers.mutation.observed import deadline_passed, only_answer, replays, store_faults
from conformance.checkers.mutation.registry import CHECKERS

_MEMBERS = ("classification", "attempt", "original_request_id", "replayed", "cause")


@CHECKERS.checker("OBS-002", "suite", "wire", "answer", "rows")
def observation_has_all_members(index: Index) -> Iterator[Finding]:
    """Whatever is disclosed of a mutation has all five members, null or not.

    Nothing is said here of answers that disclose no observation.
    """
    repeated = {r.observer.seq for r in replays(index) if not index.connections_of(r.observer)}
    for command in index.invocations:
        if command.outcome != "done":
            continue
        yield from (Met(cell) for cell in _situations(index, command, repeated))
        mutation = command.result.get("mutation")
        if mutation is None:
            continue
        missing = [m for m in _MEMBERS if not isinstance(mutation, Mapping) or m not in mutation]
        if missing:
            yield Violation(
                "an observation with " + ", ".join(_MEMBERS),
                "it lacked " + ", ".join(missing),
                command.until,
                "answer",
            )


def _situations(index: Index, command: Command, repeated: set[int]) -> Iterator[str]:
    answer = only_answer(index, command)
    if answer is not None and answer.known:
        yield "success" if answer.effect == "done" else "refusal"
    if answer is not None and answer.how == "closed":
        yield "lost-response"
    if command.seq in repeated:
        yield "replay"
    if any(f.action == "fail" and ANCHOR in f.changes for f in store_faults(index, command)):
        yield "no-attempt"


@CHECKERS.checker("OBS-016", "suite", "answer", "rows")
def not_attempted_is_no_code(index: Index) -> Iterator[Finding]:
    """However a call is refused ahead of its gate, its error code is a cause and never the classification."""
    for command in index.commands:
        if command.outcome != "done":
            continue
        if command.invokes:
            yield from (Met(cell) for cell in _refusals(index, command))
        if command.code == "not_attempted":
            yield Violation(
                "an error code that says why",
                "the code was not_attempted, which is a classification",
                command.until,
                "answer",
            )


def _refusals(index: Index, command: Command) -> Iterator[str]:
    """How this invocation was kept from its gate."""
    if _stale(index, command):
        yield "admission"
    if any(f.action == "fail" and ANCHOR in f.changes for f in store_faults(index, command)):
        yield "anchor"
    for attempt in index.attempts_of(command):
        seen = index.seen_by(command)
        moves = (m.seq for m in index.moves_of(attempt) if m.dest == "Aborted")
        aborted = next((seq for seq in moves if command.seq < seq <= seen), None)
        if aborted is None or index.opened(attempt):
            continue
        passed = deadline_passed(index, command)
        if passed is not None and passed < aborted and not any(index.during(command, frozenset({"recover"}))):
            yield "deadline"
        if any(c.seq < aborted for c in index.during(command, frozenset({"host.cancel"}))):
            yield "cancel"


def _stale(index: Index, command: Command) -> bool:
    """Whether the request names another revision of its operation than the configuration has."""
    operations = index.config_at(command.seq).get("operations", ())
    revisions = {op["id"]: op["revision"] for op in operations}
    current = revisions.get(command.request.get("operation"))
    return current is not None and command.request.get("revision") != current
