"""The rows of a lane and the pairwise relation on them.

Source: source-settle, Scope Guard, sentence 4 (ORDER-001 to ORDER-008).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, time
from operator import attrgetter
from typing import Any, TypeAlias

Id: TypeAlias = Any
"""Any hashable value with one total order on all rows of a lane: all integers, or all texts."""


class LaneError(ValueError):
    """Rows or a question about them that make no sense; the message is one sentence for people."""


@dataclass(frozen=True, slots=True)
class Row:
    """One Event of a lane, reduced to the four columns that decide its place.

    `id`        Id: unique in the lane; integers compare as numbers, never as text.
    `ordinal`   EnqueueOrdinal: a whole number; 0 marks a row of an older version and is no value to compare.
    `created`   CreatedDate: any comparable instant (number, `datetime`, fixed-width text), one kind per lane.
    `sequence`  DeliverySequence: the place inside a delivery.

    Raises `LaneError` for an ordinal that is not a whole number from 0 up.
    """

    id: Id
    ordinal: int
    created: Any
    sequence: Any

    def __post_init__(self) -> None:
        if type(self.ordinal) is not int or self.ordinal < 0:
            raise LaneError(
                f"row {self.id!r}: the ordinal is {self.ordinal!r}, but an ordinal is a whole number "
                "from 0 up (0 marks a row of an older version)"
            )


ordinal_key: Callable[[Row], tuple[Any, ...]] = attrgetter("ordinal", "id")
"""H, the key of a pair of stamped rows: (EnqueueOrdinal, Id)."""

ingress_key: Callable[[Row], tuple[Any, ...]] = attrgetter("created", "sequence", "id")
"""G, the key of every other pair and of every broken cycle: (CreatedDate, DeliverySequence, Id)."""


def precedes(a: Row, b: Row) -> bool:
    """Whether `a` precedes `b` by the claim guard; each pair chooses its own key (ORDER-001, -002, -008)."""
    if a.ordinal and b.ordinal:
        return ordinal_key(a) < ordinal_key(b)
    return ingress_key(a) < ingress_key(b)


def in_ingress_order(rows: Iterable[Row]) -> list[Row]:
    """The rows sorted by ingress key.

    Raises `LaneError` where two rows share an id, or where ids or dates of different kinds cannot be
    compared.
    """
    given = list(rows)
    try:
        # Three stable sorts by one attribute each: at a million rows half the time of one sort by tuples.
        lane = sorted(given, key=attrgetter("id"))
        lane.sort(key=attrgetter("sequence"))
        lane.sort(key=attrgetter("created"))
    except TypeError:
        raise LaneError(_why_incomparable(given)) from None
    if len({row.id for row in lane}) < len(lane):
        raise LaneError(_which_twice(given))
    return lane


def _which_twice(rows: list[Row]) -> str:
    seen: set[Id] = set()
    for row in rows:
        if row.id in seen:
            return f"row {row.id!r} occurs twice; ids must be unique in a lane, since they break every tie"
        seen.add(row.id)
    raise AssertionError("no id occurs twice")


def _why_incomparable(rows: list[Row]) -> str:
    """Name the first row whose id, date or sequence is of another kind than that of the first row."""
    first = rows[0]
    for row in rows:
        for part, name in (("id", "id"), ("created", "date"), ("sequence", "delivery sequence")):
            here, there = _kind(getattr(row, part)), _kind(getattr(first, part))
            if here != there:
                return (
                    f"row {row.id!r}: its {name} is {here}, that of row {first.id!r} is {there}; "
                    "one lane needs one kind, or its rows cannot be compared"
                )
    return "the rows cannot be compared; give all ids, all dates and all delivery sequences one comparable type"


def _kind(value: Any) -> str:
    if isinstance(value, datetime | time):
        return "a date without a time zone" if value.utcoffset() is None else "a date with a time zone"
    return {int: "a number", float: "a number", str: "a text"}.get(type(value), f"a {type(value).__name__}")
