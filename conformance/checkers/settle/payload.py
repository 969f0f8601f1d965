"""Flow inputs as sequences of rows: what the checkers of order look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from conformance.checkers.base import Violation
from conformance.checkers.settle.index import Attempt, Index, ids_of
from conformance.checkers.settle.stored import Lane
from conformance.checkers.timeline import Command
from statemachines.lanes import READINGS, Row, has_cycle, ingress_key, precedes


@dataclass(frozen=True, slots=True)
class Payload:
    """One input with the keys of its rows; ``others`` are the keys of the other rows of the lane."""

    attempt: Attempt
    read: Command
    lane: Lane
    rows: tuple[Row, ...]
    sequence: tuple[int, ...]
    others: tuple[Row, ...]

    @property
    def cyclic(self) -> bool:
        """Whether the rows of the input form a cycle."""
        return has_cycle(self.rows)

    @property
    def whole(self) -> bool:
        """Whether the input holds each of its rows once."""
        return len(set(self.sequence)) == len(self.sequence)

    def reversed(self) -> list[tuple[Row, Row]]:
        """The pairs (a, b), a before b by the guard, that came out the other way round."""
        place = {id_: i for i, id_ in enumerate(self.sequence)}
        found = []
        for a, b in combinations(self.rows, 2):
            first, second = (a, b) if precedes(a, b) else (b, a)
            if place[second.id] < place[first.id]:
                found.append((first, second))
        return found


def payloads(index: Index) -> Iterator[Payload]:
    """The inputs of lanes that preserve payloads, with two rows or more."""
    for attempt in index.attempts:
        lane = index.lane_of(attempt.head)
        if lane is None or not index.preserving(lane):
            continue
        for read in attempt.reads:
            stored = {e.id: e.key for e in index.result_view(read).lane(lane)}
            sequence = ids_of(read)
            if len(set(sequence)) < 2 or not set(sequence) <= stored.keys():
                continue
            rows = tuple(stored[id_] for id_ in dict.fromkeys(sequence))
            others = tuple(key for id_, key in stored.items() if id_ not in sequence)
            yield Payload(attempt, read, lane, rows, tuple(sequence), others)


def wrong_pair(payload: Payload, a: Row, b: Row) -> Violation:
    """A pair that came out the wrong way round."""
    return Violation(
        f"row {a.id} before row {b.id} in the input of head {payload.attempt.head}",
        f"the input was {shown(payload)}",
        payload.read.until,
        "answer",
    )


def shown(payload: Payload) -> str:
    """The input as people read it."""
    return ", ".join(map(str, payload.sequence))


def stored_order(index: Index) -> dict[int, int]:
    """The places of loaded rows, by Id, in the order in which they were stored."""
    loads = (row["id"] for c in index.commands if c.cmd == "lane.load_rows" for row in c.args["rows"])
    return {id_: place for place, id_ in enumerate(loads)}


def mixed(rows: tuple[Row, ...]) -> bool:
    """Whether some rows have an ordinal and some have none."""
    return any(r.ordinal for r in rows) and not all(r.ordinal for r in rows)


def inversions(payload: Payload) -> Iterator[tuple[Row, Row]]:
    """Inverted stamped pairs with no row without an ordinal between their ingress keys."""
    zeros = sorted(ingress_key(r) for r in payload.rows if not r.ordinal)
    for a, b in combinations([r for r in payload.rows if r.ordinal], 2):
        first, second = (a, b) if precedes(a, b) else (b, a)
        low, high = ingress_key(second), ingress_key(first)
        if low < high and not any(low < z < high for z in zeros):
            yield first, second


def ordered(payload: Payload) -> list[Row]:
    """The rows in the normative order."""
    by_id = {r.id: r for r in payload.rows}
    return [by_id[id_] for id_ in READINGS["B"](payload.rows)]
