"""Pairs of the same keys that are judged twice: for membership in one lane, for the order of an input in another.

Who becomes the head is left to the implementation, so that the claim itself is no third judge here: it shows in the
membership that it decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, TypeAlias

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.settle.generation import Case, cases, wrongs
from conformance.checkers.settle.index import Index
from conformance.checkers.settle.payload import Payload, payloads
from conformance.checkers.settle.stored import Lane
from statemachines.lanes import Row, ingress_key, precedes

#: What a comparison may look at, in both rows; of the Ids only how they stand to each other.
Pair: TypeAlias = tuple[Any, ...]
#: Requirements whose wrong rows are on the wrong side of a comparison, and wrong for no other reason.
_BY_KEYS = ("GEN-003", "GEN-004", "GEN-005", "GEN-042", "GEN-043")


def contradictions(index: Index) -> Iterator[Finding]:
    """Rows that membership puts on the other side of head or boundary than an input without a cycle has them."""
    placed = _placed(index)
    for case in cases(index):
        for a, b in _judged(case):
            if any(payload.lane != case.lane for payload in placed.get(_pair(a, b), ())):
                yield from (Met(f"twin-{part}") for part in _decides(a, b))
    for requirement in _BY_KEYS:
        for wrong in wrongs(index, requirement):
            case = wrong.case
            compared = list(_compared(case, wrong.row.key))
            # To be in, a row needs all of its comparisons; to be out, the one that fails.
            against = [(b, a) for a, b in compared if not precedes(a, b)] if not wrong.missing else compared
            found = [placed[_pair(a, b)][0] for a, b in against if _pair(a, b) in placed]
            if found and (len(found) == len(against) or not wrong.missing):
                inside = f"{'in' if wrong.missing else 'not in'} the input of head {case.head.id}"
                yield Violation(
                    f"row {wrong.row.id} {inside}, as the input of head {found[0].attempt.head} has rows of these keys",
                    f"the input was {', '.join(map(str, case.taken)) or 'empty'}",
                    case.read.until,
                    "answer",
                )


def _placed(index: Index) -> Mapping[Pair, list[Payload]]:
    """Pair -> the inputs without a cycle that have it in the order of the guard."""
    found: dict[Pair, list[Payload]] = defaultdict(list)
    seen: set[tuple[Lane, tuple[int, ...]]] = set()
    for payload in payloads(index):
        if payload.cyclic or not payload.whole or (payload.lane, payload.sequence) in seen:
            continue
        seen.add((payload.lane, payload.sequence))
        wrong = payload.reversed()
        for one, other in combinations(payload.rows, 2):
            pair = (one, other) if precedes(one, other) else (other, one)
            if pair not in wrong:
                found[_pair(*pair)].append(payload)
    return found


def _pair(a: Row, b: Row) -> Pair:
    """Of two rows, the first by the guard first."""
    texts = str(a.id) < str(b.id)
    return (a.ordinal, a.created, a.sequence, b.ordinal, b.created, b.sequence, a.id < b.id, texts)


def _compared(case: Case, x: Row) -> Iterator[tuple[Row, Row]]:
    """The comparisons that a row must stand: (row, head), (boundary, row)."""
    yield x, case.head.key
    if case.boundary is not None:
        yield case.boundary.key, x


def _judged(case: Case) -> Iterator[tuple[Row, Row]]:
    """The pairs that membership of this input judged, the first by the guard first."""
    for id_, event in case.rows.items():
        if id_ != case.head.id and id_ not in case.consumed:
            for a, b in _compared(case, event.key):
                yield (a, b) if precedes(a, b) else (b, a)


def _decides(a: Row, b: Row) -> Iterator[str]:
    """The part of the key that puts a before b, where what would come after it says otherwise."""
    if a.ordinal and b.ordinal:
        if a.ordinal != b.ordinal and ingress_key(a) > ingress_key(b):
            yield "ordinal"
    elif a.created != b.created:
        if (a.sequence, a.id) > (b.sequence, b.id):
            yield "date"
    elif a.sequence != b.sequence:
        if a.id > b.id:
            yield "sequence"
    else:
        yield "id"
