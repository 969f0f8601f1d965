"""Approvals and event claims: what they are bound to and that they are used once (APPR-003 to APPR-011, APPR-014)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.cases import RETENTION_MS, TICKS_MS, Case, not_sent, presenting, used_before
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS

_REFUSED = frozenset({"approval_refused"})
_REPLAYED = frozenset({"approval_replayed"})


def _bound(index: Index, cells: Mapping[str, str]) -> Iterator[Finding]:
    """A candidate whose approval fails in one single respect is refused and not sent."""
    for case in index.cases:
        if not case.candidate or case.presented is None or len(case.presented.fails) != 1:
            continue
        (respect,) = case.presented.fails
        if respect in cells:
            yield Met(cells[respect])
            yield from not_sent(index, case, _REFUSED, f"the approval does not fit in its {respect}")


@CHECKERS.checker("APPR-003", "suite", "wire", "answer", "rows")
def bound_to_who_asks(index: Index) -> Iterator[Finding]:
    """An approval for another caller, executor or origin does not verify."""
    return _bound(index, {name: name for name in ("caller", "executor", "origin")})


@CHECKERS.checker("APPR-004", "suite", "wire", "answer", "rows")
def bound_to_what_is_called(index: Index) -> Iterator[Finding]:
    """An approval for another operation or connection does not verify."""
    return _bound(index, {name: name for name in ("operation", "connection")})


@CHECKERS.checker("APPR-005", "suite", "wire", "answer", "rows")
def bound_to_the_revisions(index: Index) -> Iterator[Finding]:
    """An approval for another revision of the operation or connection does not verify."""
    return _bound(index, {"operation-revision": "operation", "connection-revision": "connection"})


@CHECKERS.checker("APPR-006", "suite", "wire", "answer", "rows")
def bound_to_the_canonical_input(index: Index) -> Iterator[Finding]:
    """An approval for another input does not verify; the order of the input's members is no other input."""
    yield from _bound(index, {"input": "other-input"})
    for case in index.cases:
        presented, given = case.presented, list(case.policy.request["input"])
        if not case.candidate or presented is None or presented.fails or given == sorted(given):
            continue
        yield Met("reordered")
        if case.command.code == "approval_refused":
            yield Violation(
                "the approval verifies: the input is the same but for the order of its members",
                "the caller was told approval_refused",
                case.command.until,
                "answer",
            )


@CHECKERS.checker("APPR-007", "suite", "wire", "answer", "rows")
def issuer_and_expiry(index: Index) -> Iterator[Finding]:
    """An approval by an issuer that is not trusted, or past its expiry, does not verify."""
    return _bound(index, {"issuer": "issuer", "expiry": "expiry"})


@CHECKERS.checker("APPR-009", "suite", "wire", "answer", "rows")
def a_spent_approval_authorises_nothing(index: Index) -> Iterator[Finding]:
    """A candidate under another key that presents what was used before hears approval_replayed."""
    for case in index.cases:
        if not case.candidate or case.presented is None or case.presented.fails:
            continue
        where = used_before(index, case)
        if where is not None:
            yield Met(where)
            yield from not_sent(index, case, _REPLAYED, "the reference was spent before")


@CHECKERS.checker("APPR-011", "suite", "wire", "answer", "rows")
def retention_revives_no_approval(index: Index) -> Iterator[Finding]:
    """Once the key is free again, its old approval is not: spent or expired, it authorises no new attempt."""
    for case in index.cases:
        presented = case.presented
        if presented is None or not case.plain or not _reused(index, case):
            continue
        if presented.fails == {"expiry"}:
            cell = "expired"
        elif not presented.fails and used_before(index, case) == "here":
            cell = "spent"
        else:
            continue
        mutation = case.command.result.get("mutation")
        if isinstance(mutation, Mapping) and mutation.get("replayed"):
            # A host may go on replaying until the generation is retired (expiry-before-retirement).
            continue
        yield Met(cell)
        codes = _REFUSED | _REPLAYED if cell == "spent" else _REFUSED
        yield from not_sent(index, case, codes, f"the retention is over, and the approval is {cell}")


def _reused(index: Index, case: Case) -> bool:
    """Whether the key was used before, always with a known result whose retention is certainly over."""
    earlier = [
        other
        for other in index.cases
        if other.command.seq < case.command.seq
        and other.command.key == case.command.key is not None
        and other.policy.namespace == case.policy.namespace
    ]
    sent = [c for other in earlier for c in index.connections_of(other.command)]
    since = max((c.end_seq for c in sent), default=0)
    clock = index.clock_at(since) if sent else None
    after = index.clock_at(case.command.seq)
    if clock is None or after is None or not all(c.known and c.end_seq < case.command.seq for c in sent):
        return False
    return after.mono_ms - clock.mono_ms >= RETENTION_MS + TICKS_MS and all(
        other.command.until < case.command.seq for other in earlier
    )


@CHECKERS.checker("APPR-014", "suite", "wire", "answer", "rows")
def spent_exactly_once(index: Index) -> Iterator[Finding]:
    """However candidates meet, one reference of one issuer has one spend and one attempt at the remote."""
    for case in index.cases:
        if case.presented is None or case.presented.fails:
            continue
        for rival in presenting(index, case.presented):
            meets = case.command.seq < rival.command.seq < case.command.until
            if meets and (rival.command.key != case.command.key or not case.command.key):
                yield Met("event-claim" if case.policy.mode == "event_claim" else "approval")
    yield from _spent_twice(index)
    yield from _sent_twice(index)


def _spent_twice(index: Index) -> Iterator[Finding]:
    seen: object = None
    for rows in index.rows:
        if rows.spends is None or rows.spends is seen:
            continue
        seen = rows.spends
        names = [(spend["issuer"], spend["reference"]) for spend in rows.spends]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            count = names.count(twice)
            yield Violation(f"one spend of {twice[1]} by {twice[0]}", f"{count} rows say so", rows.seq, "rows")
            return


def _sent_twice(index: Index) -> Iterator[Finding]:
    first: dict[tuple[str, str], Case] = {}
    for case in index.cases:
        if case.presented is None or case.presented.fails:
            continue
        for connection in index.connections_of(case.command):
            before = first.setdefault(case.presented.name, case)
            if before is not case:
                yield Violation(
                    f"one attempt at the remote under {case.presented.name[1]}",
                    f"{before.command.request_id} and {case.command.request_id} both connected",
                    connection.seq,
                    "wire",
                )
            break
