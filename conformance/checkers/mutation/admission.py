"""Admission: which refusal comes first, and what none of them shows (EXEC-004, EXEC-006 to EXEC-016, EXEC-021)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.checkers.base import Finding, Judge, Met, Violation
from conformance.checkers.mutation.cases import Case, holder, not_sent, text_of
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS

#: Rows of step 3, by the cell of EXEC-013 that each stands for.
_STEP_3: Final = {
    "access": "denied",
    "freshness": "stale",
    "bound_lookup": "absent",
    "enablement": "disabled",
    "input_shape": "input",
    "input_scope": "scope",
    "key_presence": "key",
}


#: What is said only behind the first group of checks.
_LATER: Final = frozenset(
    {
        None,
        "forbidden",
        "stale_description",
        "not_found",
        "idempotency_conflict",
        "approval_required",
        "approval_refused",
        "approval_replayed",
        "outcome_unknown",
    }
)


def _where_somebody_is_served(judge: Judge) -> Judge:
    """A refusal says something only of a host that also does what it is asked: else it would be all that it says."""

    def judged(index: Index) -> Iterator[Finding]:
        served = bool(index.connections)
        yield from (f for f in judge(index) if served or not isinstance(f, Met))

    return judged


@CHECKERS.checker("EXEC-001", "suite", "wire", "answer")
def the_envelope_comes_first(index: Index) -> Iterator[Finding]:
    """A bad version or envelope is refused as such by whoever would be refused later too, or hold a conflict."""
    for case in index.cases:
        if not case.plain or case.policy.first not in ("version", "envelope"):
            continue
        held = holder(index, case)
        if held is not None:
            yield Met("held-key")
        elif case.policy.refusals[1:]:
            yield Met(case.policy.first)
        else:
            continue
        if case.command.code in _LATER or case.command.result.get("mutation") is not None:
            happened = f"the caller was told {case.command.code or 'success'}"
            yield Violation("a refusal of the envelope and nothing else", happened, case.command.until, "answer")


@CHECKERS.checker("EXEC-002", "suite", "wire", "answer")
@_where_somebody_is_served
def strangers_learn_no_shape(index: Index) -> Iterator[Finding]:
    """Whoever is denied does not hear that the input does not fit."""
    for case in index.cases:
        if case.plain and case.policy.first == "access" and "input_shape" in case.policy.refusals:
            yield Met("input")
            if case.command.code in ("invalid_input", None):
                happened = f"the caller was told {case.command.code or 'success'}"
                yield Violation("a denial that says nothing of the input", happened, case.command.until, "answer")


@CHECKERS.checker("EXEC-004", "suite", "wire", "answer")
@_where_somebody_is_served
def strangers_learn_nothing(index: Index) -> Iterator[Finding]:
    """Whether what a call names exists, is bound, or neither: a caller without authority hears the same."""
    first: dict[str, tuple[str, Case]] = {}
    seen: dict[str, set[str]] = {}
    for case in index.cases:
        if not case.plain or case.policy.first != "access":
            continue
        asker = text_of([case.policy.context, case.policy.denial])
        named = _named(case)
        began, model = first.setdefault(asker, (named, case))
        seen.setdefault(asker, set()).add(named)
        if case.wording != model.wording:
            happened = f"an operation that is {began} and one that is {named} are told apart"
            yield Violation("the same refusal, whatever there is behind it", happened, case.command.until, "answer")
    for found in seen.values():
        if len(found) > 1:
            yield from (Met(cell) for cell in sorted(found))


def _named(case: Case) -> str:
    refusals = case.policy.refusals
    return "absent" if case.policy.operation is None else "unbound" if "bound_lookup" in refusals else "existing"


def _first_wins(index: Index, row: str, codes: frozenset[str], cells: Mapping[str, str]) -> Iterator[Finding]:
    """Where ``row`` decides and a later row would refuse too, the answer is that of ``row``."""
    for case in index.cases:
        if not case.plain or case.policy.first != row:
            continue
        for also in case.policy.refusals[1:]:
            if also in cells:
                yield Met("absent" if also == "bound_lookup" and case.policy.operation is None else cells[also])
        if any(also in cells for also in case.policy.refusals[1:]):
            yield from not_sent(index, case, codes, f"{row} is checked ahead of {', '.join(case.policy.refusals[1:])}")


@CHECKERS.checker("EXEC-006", "suite", "wire", "answer")
@_where_somebody_is_served
def denial_comes_first(index: Index) -> Iterator[Finding]:
    """Whoever is denied learns neither that a description is stale nor that an operation is absent or unbound.

    The code of a denial is the base contract's; what must not be heard are the codes of the later checks.
    """
    for case in index.cases:
        later = case.policy.refusals[1:]
        if not case.plain or case.policy.first != "access":
            continue
        cells = {"freshness": "stale", "bound_lookup": "absent" if case.policy.operation is None else "unbound"}
        for row in later:
            if row in cells:
                yield Met(cells[row])
        if "freshness" in later:
            yield Met(f"stale-{case.policy.denial}")
        if case.command.code in ("stale_description", "not_found", None):
            happened = f"the caller was told {case.command.code or 'success'}"
            yield Violation("a denial ahead of staleness and existence", happened, case.command.until, "answer")


@CHECKERS.checker("EXEC-007", "suite", "wire", "answer")
def freshness_before_enablement(index: Index) -> Iterator[Finding]:
    """A stale description is told ahead of the disabled operation behind it."""
    return _first_wins(index, "freshness", frozenset({"stale_description"}), {"enablement": "disabled"})


def _alone(index: Index, row: str, codes: frozenset[str], why: str) -> Iterator[tuple[Case, list[Finding]]]:
    for case in index.cases:
        if case.plain and case.policy.first == row:
            yield case, list(not_sent(index, case, codes, why))


@CHECKERS.checker("EXEC-008", "suite", "wire", "answer")
@_where_somebody_is_served
def disabled_is_forbidden(index: Index) -> Iterator[Finding]:
    """An admitted, fresh call of a disabled operation hears forbidden."""
    for _, found in _alone(index, "enablement", frozenset({"forbidden"}), "the operation is disabled"):
        yield Met("disabled")
        yield from found


@CHECKERS.checker("EXEC-009", "suite", "wire", "answer")
def absent_is_not_found(index: Index) -> Iterator[Finding]:
    """An admitted call of an operation that is absent or not bound hears not_found."""
    for case, found in _alone(index, "bound_lookup", frozenset({"not_found"}), "there is nothing bound"):
        yield Met("absent" if case.policy.operation is None else "unbound")
        yield from found


@CHECKERS.checker("EXEC-010", "suite", "wire", "answer")
@_where_somebody_is_served
def input_after_enablement(index: Index) -> Iterator[Finding]:
    """A disabled operation says so whatever the input."""
    return _first_wins(index, "enablement", frozenset({"forbidden"}), {"input_shape": "input"})


@CHECKERS.checker("EXEC-011", "suite", "wire", "answer")
def input_before_the_key(index: Index) -> Iterator[Finding]:
    """Input that does not fit is refused as such, also where the key is held by another request."""
    for case in index.cases:
        if case.plain and case.policy.first == "input_shape" and holder(index, case) is not None:
            yield Met("held")
            yield from not_sent(index, case, frozenset({"invalid_input"}), "the input is judged ahead of the key")


@CHECKERS.checker("EXEC-012", "suite", "wire", "answer")
def scope_between_shape_and_key(index: Index) -> Iterator[Finding]:
    """Input outside of the scope is refused, behind its shape and ahead of its key; which code is open."""
    for case in index.cases:
        refusals = case.policy.refusals
        if not case.plain or "input_scope" not in refusals:
            continue
        if case.policy.first == "input_shape":
            yield Met("shape-first")
            yield from not_sent(index, case, frozenset({"invalid_input"}), "the shape of the input is judged first")
        elif case.policy.first == "input_scope":
            yield Met("bad-key" if "key_presence" in refusals else "outside")
            yield from not_sent(index, case, frozenset({"forbidden", "invalid_input"}), "the input is out of scope")


@CHECKERS.checker("EXEC-013", "suite", "wire", "answer", "rows")
def a_refusal_of_admission_is_bare(index: Index) -> Iterator[Finding]:
    """No refusal of step 3 has a mutation member, and none leaves an attempt behind."""
    ids = [command.request_id for command in index.invocations]
    for case in index.cases:
        cell = _STEP_3.get(case.policy.first or "")
        if not case.plain or cell is None:
            continue
        yield Met(cell)
        if case.command.result.get("mutation") is not None:
            happened = f"the mutation member says {case.command.classification}"
            yield Violation("a refusal of admission without mutation metadata", happened, case.command.until, "answer")
        made = index.attempts_of(case.command) if ids.count(case.command.request_id) == 1 else []
        if made:
            rows = index.rows_after(case.command.until)
            happened = f"there is the attempt {made[0][-6:]}"
            seq = rows.seq if rows else case.command.until
            yield Violation("a refusal of admission without any attempt", happened, seq, "rows")


@CHECKERS.checker("EXEC-016", "suite", "wire", "answer", "rows")
def credentials_are_resolved_ahead_of_any_record(index: Index) -> Iterator[Finding]:
    """A credential that is not ready refuses by a cause of its own, with no attempt and no request."""
    for case in index.cases:
        if not case.candidate or case.policy.credential == "ready" or not _approved(case):
            continue
        yield Met(case.policy.credential)
        yield from _refused_bare(index, case)


def _approved(case: Case) -> bool:
    if case.policy.mode == "not_required":
        return True
    presented = case.presented
    return presented is not None and not presented.fails and not presented.record["spent"]


def _refused_bare(index: Index, case: Case) -> Iterator[Finding]:
    command = case.command
    for connection in index.connections_of(command):
        yield Violation(
            "no request while the credential is not ready", f"{connection.proc} connected", connection.seq, "wire"
        )
        return
    made = index.attempts_of(command)
    if made and index.linked:
        rows = index.rows_after(command.until)
        seq = rows.seq if rows else command.until
        yield Violation("no attempt while the credential is not ready", f"there is {made[0][-6:]}", seq, "rows")
    if command.code == "approval_replayed":
        # Whether the approval was used up is another question.
        return
    mutation: Mapping[str, Any] = command.result.get("mutation") or {}
    generic = command.code in (None, "outcome_unknown", "unavailable", "capacity") and mutation.get("cause") in (
        None,
        command.code,
    )
    if command.classification != "not_attempted" or mutation.get("attempt") is not None or generic:
        told = f"{command.classification} with {command.code or 'success'} and cause {mutation.get('cause')}"
        yield Violation("not_attempted without attempt, and a cause of the credential", told, command.until, "answer")


@CHECKERS.checker("EXEC-021", "suite", "wire", "answer", "rows")
def approval_before_preflight(index: Index) -> Iterator[Finding]:
    """Whoever has no good approval hears that, and not how the credential is."""
    for case in index.cases:
        if not case.candidate or case.policy.credential == "ready" or case.policy.mode != "required":
            continue
        if case.policy.request.get("approval") is None:
            yield Met("missing")
            yield from not_sent(index, case, frozenset({"approval_required"}), "approval is judged first")
        elif case.presented is not None and case.presented.fails:
            yield Met("bad")
            yield from not_sent(index, case, frozenset({"approval_refused"}), "approval is judged first")
