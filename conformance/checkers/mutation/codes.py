"""What refusals are called, and what they keep to themselves (CODE-001 to CODE-008, CODE-012)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.cases import Case, holder, not_sent, state_of, text_of
from conformance.checkers.mutation.facts import Command, Connection
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS
from statemachines.spec import load

#: The coordinates that conflicts are compared by; a route differs only together with its namespace.
_AXES: Final = frozenset({"operation", "connection", "connection-revision", "input", "revision", "configuration"})
#: What a conflict does not say; the request's own values may be repeated.
_STATES: Final = frozenset({"Pending", "Replayable", "Quarantined", "Prepared", "Dispatching", "Completed", "Failed"})


@CHECKERS.checker("CODE-001", "suite", "wire", "answer", "rows")
def approval_required(index: Index) -> Iterator[Finding]:
    """A candidate for an operation that requires an approval, which presents none, hears approval_required."""
    for case in index.cases:
        if case.candidate and case.policy.mode == "required" and case.policy.request.get("approval") is None:
            yield Met("keyed" if case.command.key else "unkeyed")
            yield from not_sent(index, case, frozenset({"approval_required"}), "no approval was presented")


@CHECKERS.checker("CODE-002", "suite", "wire", "answer", "rows")
def approval_refused(index: Index) -> Iterator[Finding]:
    """What is presented and does not verify is answered with approval_refused."""
    for case in index.cases:
        if case.candidate and case.presented is not None and "evidence" in case.presented.fails:
            yield Met("evidence")
            yield from not_sent(index, case, frozenset({"approval_refused"}), "the evidence is another one")


@CHECKERS.checker("CODE-003", "suite", "wire", "answer", "rows")
def a_refused_approval_tells_no_axis(index: Index) -> Iterator[Finding]:
    """Whatever an approval fails in, the refusal is the same to the last member."""
    refused = [
        (next(iter(case.presented.fails)), case)
        for case in index.cases
        if case.candidate
        and case.presented is not None
        and len(case.presented.fails) == 1
        and case.command.code == "approval_refused"
    ]
    yield from _all_alike(refused, "the same refusal for whatever an approval fails in")


def _all_alike(told: list[tuple[str, Case]], allowed: str) -> Iterator[Finding]:
    if len({axis for axis, _ in told}) > 1:
        yield from (Met(axis) for axis, _ in told)
    for axis, case in told[1:]:
        first_axis, first = told[0]
        if case.wording != first.wording:
            happened = f"{first_axis} and {axis} are told apart: {_difference(first.said, case.said)}"
            yield Violation(allowed, happened, case.command.until, "answer")


def _difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    name = next(n for n in sorted({*one, *other}) if text_of(one.get(n)) != text_of(other.get(n)))
    return f"{name} is {text_of(one.get(name))} and {text_of(other.get(name))}"


def _conflicts(index: Index) -> Iterator[tuple[Case, Case, Connection, tuple[str, ...]]]:
    """(call, holder, its request, coordinates that differ) for every call whose key another request certainly holds."""
    for case in index.cases:
        if not case.plain or case.policy.first is not None or not case.command.key:
            continue
        found = holder(index, case)
        if found is None:
            continue
        mine, theirs = case.policy.coordinates, found[0].policy.coordinates
        differ = tuple(name for name in mine if mine[name] != theirs[name])
        if differ:
            yield case, *found, differ


@CHECKERS.checker("CODE-005", "suite", "wire", "answer", "rows")
def another_request_under_a_live_key(index: Index) -> Iterator[Finding]:
    """The key of a live reservation with another request is answered with idempotency_conflict and sends nothing."""
    for case, held, connection, _ in _conflicts(index):
        state = state_of(index, held, connection, case.command.seq)
        if state is not None:
            yield Met(state)
        why = f"{held.command.request_id} holds the key with another request"
        yield from not_sent(index, case, frozenset({"idempotency_conflict"}), why)
    for case, other in _outrun(index):
        yield Met("raced")
        why = f"{other.request_id} with another request took the key on the way"
        yield from not_sent(index, case, frozenset({"idempotency_conflict"}), why)


def _outrun(index: Index) -> Iterator[tuple[Case, Command]]:
    """The calls, and who sent another request under their key while they were on their way, and sent none themselves.

    A call that may have ended ahead of its reservation, by a cancel or for what it lacks, is left to REPLAY-030.
    """
    for case in index.cases:
        command, policy = case.command, case.policy
        ready = policy.first is None and policy.mode == "not_required" and policy.credential == "ready"
        if not ready or policy.config.get("capacity") or not command.key or index.connections_of(command):
            continue
        if not index.slots.undisturbed(command):
            continue
        slot = (command.key, policy.namespace)
        others = [o for o in index.cases if o is not case and (o.command.key, o.policy.namespace) == slot]
        for other in others:
            sent = [c.seq for c in index.connections_of(other.command) if c.how != "reset"]
            met = other.policy.coordinates != policy.coordinates and any(command.seq < s < command.until for s in sent)
            # Who was there before may have left something to replay until its generation is retired.
            if met and all(o.command.seq > command.seq for o in others):
                yield case, other.command
                break


@CHECKERS.checker("CODE-007", "suite", "wire", "answer", "rows")
def a_conflict_shows_nothing_of_the_original(index: Index) -> Iterator[Finding]:
    """No value, digest, id, state or result of the stored request is in a conflict."""
    first: dict[str, tuple[str, Case]] = {}
    for case, held, connection, _ in _conflicts(index):
        if case.command.code != "idempotency_conflict":
            continue
        state = state_of(index, held, connection, case.command.seq)
        if state is not None:
            yield Met(state)
            yield from _state_shows(first, state, case)
        own = set(_texts(case.policy.request))
        said = list(_texts(case.said))
        for secret in sorted(_secrets(index, held) - own):
            if any(secret in text for text in said):
                happened = f"the answer holds {secret!r}"
                yield Violation(
                    "a conflict without anything of the stored request", happened, case.command.until, "answer"
                )
                break


def _state_shows(first: dict[str, tuple[str, Case]], state: str, case: Case) -> Iterator[Violation]:
    """A violation if a conflict differs from one of the same caller that met another state."""
    known, other = first.setdefault(case.policy.namespace, (state, case))
    if known != state and other.wording != case.wording:
        happened = f"{known} and {state} are told apart: {_difference(other.said, case.said)}"
        yield Violation("the same conflict in whatever state the original is", happened, case.command.until, "answer")


def _secrets(index: Index, held: Case) -> set[str]:
    attempts = index.attempts_of(held.command)
    result = held.command.result.get("result")
    values = {*_texts(held.policy.request["input"]), *_texts(result), held.command.request_id, held.policy.digest}
    return {text for text in values | set(attempts) | _STATES if len(text) > 1}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, Iterable):
        for item in value:
            yield from _texts(item)


@CHECKERS.checker("CODE-008", "suite", "wire", "answer", "rows")
def a_conflict_tells_no_axis(index: Index) -> Iterator[Finding]:
    """Whichever coordinate differs, the conflict is the same to the last member."""
    told: list[tuple[str, Case]] = []
    for case, _, _, differ in _conflicts(index):
        if len(differ) == 1 and differ[0] in _AXES and case.command.code == "idempotency_conflict":
            told.append((differ[0], case))
    yield from _all_alike(told, "the same conflict for whichever coordinate differs")


@CHECKERS.checker("CODE-012", "suite", "answer")
def only_codes_of_the_list(index: Index) -> Iterator[Finding]:
    """Every error has a code of the closed list: those of the base, and the five that the profile adds."""
    known = {row.id for row in load().tables["codes"].rows if row.then["group"] == "code"}
    for command in index.invocations:
        if command.outcome != "done" or command.code is None:
            continue
        if command.code in known:
            yield Met("refusal" if command.classification == "refused" else "other")
        else:
            happened = f"the caller was told {command.code}"
            yield Violation("a code of the table of codes", happened, command.until, "answer")
