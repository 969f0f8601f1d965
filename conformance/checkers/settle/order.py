"""The order of Flow inputs without a cycle: every pair as the guard has it (ORDER)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.settle.index import Index
from conformance.checkers.settle.payload import (
    Payload,
    inversions,
    mixed,
    ordered,
    payloads,
    shown,
    stored_order,
    wrong_pair,
)
from conformance.checkers.settle.registry import CHECKERS
from conformance.checkers.settle.twins import contradictions
from statemachines.lanes import READINGS, Row, has_cycle, ingress_key, precedes


def kind(a: Row, b: Row) -> str:
    """What decides between two rows, as far as the keys contradict each other; each kind is one requirement's."""
    if a.ordinal and b.ordinal:
        return "ORDER-001"
    if a.ordinal or b.ordinal:
        return "ORDER-002"
    if a.created != b.created:
        if (a.created < b.created) == (a.id < b.id):
            return "ORDER-003"
        return "ORDER-007" if (a.created < b.created) == (a.sequence <= b.sequence) else "ORDER-003"
    return "ORDER-004" if a.sequence != b.sequence else "ORDER-005"


def _reversals(index: Index, requirement: str) -> Iterator[Violation]:
    """Reversed pairs of this kind in inputs without a cycle that are not whole orders of another kind."""
    for payload in payloads(index):
        if payload.whole and not payload.cyclic:
            for a, b in payload.reversed():
                if kind(a, b) == requirement:
                    yield wrong_pair(payload, a, b)
                    break


@CHECKERS.checker("ORDER-001", "suite", "answer", "rows")
def stamped_rows_by_ordinal(index: Index) -> Iterator[Finding]:
    """Two stamped rows come by ordinal, then by Id, whatever ingress says."""
    for payload in payloads(index):
        for a, b in combinations(payload.rows, 2):
            if a.ordinal and b.ordinal and not payload.cyclic:
                if a.ordinal == b.ordinal:
                    yield Met("equal-ordinals")
                elif precedes(a, b) != (ingress_key(a) < ingress_key(b)):
                    yield Met("against-ingress")
    yield from _reversals(index, "ORDER-001")


@CHECKERS.checker("ORDER-002", "suite", "answer", "rows")
def mixed_pairs_by_ingress(index: Index) -> Iterator[Finding]:
    """A stamped row and one without an ordinal come by ingress key."""
    for payload in payloads(index):
        if not payload.cyclic:
            for a, b in combinations(payload.rows, 2):
                if bool(a.ordinal) != bool(b.ordinal):
                    first = a if precedes(a, b) else b
                    yield Met("stamped-first" if first.ordinal else "zero-first")
    yield from _reversals(index, "ORDER-002")


def _zero_pairs(index: Index) -> Iterator[tuple[Row, Row]]:
    for payload in payloads(index):
        for a, b in combinations([r for r in payload.rows if not r.ordinal], 2):
            yield (a, b) if precedes(a, b) else (b, a)


@CHECKERS.checker("ORDER-003", "suite", "answer", "rows")
def created_date_first(index: Index) -> Iterator[Finding]:
    """In the ingress key CreatedDate decides before DeliverySequence."""
    for a, b in _zero_pairs(index):
        if a.created < b.created and a.sequence > b.sequence:
            yield Met("against-sequence")
            if a.created // 1000 == b.created // 1000:
                yield Met("inside-a-second")
    yield from _reversals(index, "ORDER-003")


@CHECKERS.checker("ORDER-004", "suite", "answer", "rows")
def then_delivery_sequence(index: Index) -> Iterator[Finding]:
    """Equal CreatedDate is decided by DeliverySequence before Id."""
    for a, b in _zero_pairs(index):
        if a.created == b.created and a.sequence < b.sequence and a.id > b.id:
            yield Met("against-id")
        if a.created == b.created and a.sequence < b.sequence and str(a.sequence) > str(b.sequence):
            yield Met("against-text")
    yield from _reversals(index, "ORDER-004")


@CHECKERS.checker("ORDER-005", "suite", "answer", "rows")
def then_id_as_a_number(index: Index) -> Iterator[Finding]:
    """Equal CreatedDate and DeliverySequence are decided by Id, as a number, in whatever order rows were stored."""
    orders = stored_order(index)
    for a, b in _zero_pairs(index):
        if a.created == b.created and a.sequence == b.sequence:
            yield Met("stored-in-order" if orders.get(a.id, 0) < orders.get(b.id, 0) else "stored-reversed")
            if str(a.id) > str(b.id):
                yield Met("against-text")
    yield from _reversals(index, "ORDER-005")


@CHECKERS.checker("ORDER-007", "suite", "answer", "rows")
def zero_rows_are_no_tie(index: Index) -> Iterator[Finding]:
    """Two rows without an ordinal come by ingress key, not by Id."""
    for a, b in _zero_pairs(index):
        if a.created < b.created and a.id > b.id and a.sequence <= b.sequence:
            yield Met("against-id")
    for payload in payloads(index):
        first = min(payload.rows, key=ingress_key)
        if not any(r.ordinal for r in payload.rows) and first.id > min(r.id for r in payload.rows):
            yield Met("zero-rows-alone")
    yield from _reversals(index, "ORDER-007")


@CHECKERS.checker("ORDER-006", "suite", "answer", "rows")
def zero_is_no_smallest_ordinal(index: Index) -> Iterator[Finding]:
    """A row without an ordinal does not come before stamped ones where it arrived last, nor where dates are equal."""
    for payload in payloads(index):
        latest = max(payload.rows, key=ingress_key)
        if latest.ordinal or not any(r.ordinal for r in payload.rows):
            continue
        yield Met("latest-zero")
        if payload.sequence[-1] != latest.id:
            yield Violation(
                f"row {latest.id}, which arrived last and has no ordinal, at the end",
                f"the input was {shown(payload)}",
                payload.read.until,
                "answer",
            )
    for payload in payloads(index):
        tied = [] if payload.cyclic or not payload.whole else list(_tied(payload))
        yield from (Met("tied") for _ in tied[:1])
        wrong = next((pair for pair in payload.reversed() if pair in tied), None) if tied else None
        if wrong is not None:
            yield wrong_pair(payload, *wrong)


def _tied(payload: Payload) -> Iterator[tuple[Row, Row]]:
    """The pairs of a stamped row and a later one without an ordinal that have one CreatedDate."""
    for a, b in combinations(payload.rows, 2):
        first, second = (a, b) if precedes(a, b) else (b, a)
        if first.created == second.created and first.ordinal and not second.ordinal:
            yield first, second


@CHECKERS.checker("ORDER-010", "suite", "answer", "rows")
def acyclic_lanes_keep_every_edge(index: Index) -> Iterator[Finding]:
    """In a mixed input without a cycle every pair comes by the guard, also a stamped pair against ingress."""
    for payload in payloads(index):
        if payload.cyclic or not mixed(payload.rows) or not payload.whole:
            continue
        stamped = [r for r in payload.rows if r.ordinal]
        if any(precedes(a, b) != (ingress_key(a) < ingress_key(b)) for a, b in combinations(stamped, 2)):
            yield Met("inverted-pair")
            found = payload.reversed()
            if found:
                yield wrong_pair(payload, *found[0])


@CHECKERS.checker("ORDER-011", "suite", "answer", "rows")
def an_inversion_is_no_cycle(index: Index) -> Iterator[Finding]:
    """An inverted stamped pair without a row between that has no ordinal is no cycle, and keeps its ordinals."""
    for payload in payloads(index):
        if payload.cyclic or not payload.whole:
            continue
        place = {id_: i for i, id_ in enumerate(payload.sequence)}
        for first, second in inversions(payload):
            yield Met("same-gap" if mixed(payload.rows) else "stamped-only")
            if place[second.id] < place[first.id]:
                yield wrong_pair(payload, first, second)
                break


@CHECKERS.checker("ORDER-021", "suite", "answer", "rows")
def one_comparison_everywhere(index: Index) -> Iterator[Finding]:
    """Membership and replay judge every kind of pair as the claim guard does, and one pair alike."""
    for payload in payloads(index):
        kinds = {(bool(a.ordinal), bool(b.ordinal)) for a, b in pairwise(ordered(payload))}
        if len(kinds) < 4 or payload.cyclic or not payload.whole:
            continue
        yield Met("four-kinds-of-pair")
        found = payload.reversed()
        if found:
            yield wrong_pair(payload, *found[0])
    yield from contradictions(index)


@CHECKERS.checker("ORDER-023", "suite", "answer", "rows")
def rows_outside_make_no_cycle(index: Index) -> Iterator[Finding]:
    """Cycles are judged among the rows of the input; a row outside neither makes nor breaks one."""
    for payload in payloads(index):
        if payload.cyclic or not payload.whole or not has_cycle([*payload.rows, *payload.others]):
            continue
        lane = READINGS["B"]([*payload.rows, *payload.others])
        cut = [id_ for id_ in lane if id_ in payload.sequence]
        if cut == _ids(ordered(payload)):
            continue
        late = any(index.births[r.id].seq > payload.attempt.claim.until for r in payload.others)
        yield Met("visible-later" if late else "not-due")
        if payload.reversed():
            yield wrong_pair(payload, *payload.reversed()[0])


def _ids(rows: list[Row]) -> list[int]:
    return [row.id for row in rows]


@CHECKERS.checker("ORDER-024", "suite", "answer", "rows")
def the_head_is_last(index: Index) -> Iterator[Finding]:
    """The selected head is the last row of its own input."""
    for payload in payloads(index):
        if payload.attempt.head not in payload.sequence:
            continue
        head = next(r for r in payload.rows if r.id == payload.attempt.head)
        if any(ingress_key(r) > ingress_key(head) for r in payload.rows):
            yield Met("against-ingress")
        yield Met("cyclic" if payload.cyclic else "acyclic")
        if payload.sequence[-1] != payload.attempt.head:
            yield Violation(
                f"head {payload.attempt.head} last in its input", shown(payload), payload.read.until, "answer"
            )
