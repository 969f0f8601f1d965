"""Scenarios of inputs: the lower end of a generation, ties at both ends, older skips, and ends that leave little."""

from __future__ import annotations

from typing import Any, Final

from conformance.families.settle_lanes.commands import claim, deliver, execute, load, read, replay, row
from conformance.families.settle_lanes.config import BUDGET, PAST_LEASE_MS, PAST_WINDOW_MS
from conformance.families.settle_lanes.scenarios import NEVER_MS, scenario
from conformance.search.program import Op, kill, recover, start, time
from conformance.search.scenario import Scenario


def _undue(id_: int, ordinal: int, second: float, **members: Any) -> dict[str, Any]:
    """A row that is stored and will not be due."""
    return row(id_, ordinal, second, not_before=NEVER_MS, **members)


def _heads(*ids: int) -> tuple[Op, ...]:
    return tuple(op for id_ in ids for op in execute("w1", named=id_))


#: What an older version may have left on a row that it skipped without executing it.
_MARKS: Final[tuple[dict[str, Any], ...]] = ({}, {"error": "failed"}, {"token": True, "error": "failed"})


def _older(base: int, **marks: Any) -> tuple[Op, ...]:
    """An older skip with the same marks in two lanes: in one nothing was executed, in the other a row before it was."""
    fresh, bounded = f"fresh-{base}", f"bounded-{base}"
    return (
        load(
            "s1",
            row(base + 1, base + 1, base + 1, source=fresh, state="skipped", **marks),
            row(base + 2, base + 2, base + 2, source=fresh),
        ),
        load(
            "s1",
            row(base + 3, base + 3, base + 3, source=bounded, state="processed"),
            row(base + 4, base + 4, base + 4, source=bounded, state="skipped", **marks),
            row(base + 5, base + 5, base + 5, source=bounded),
        ),
        *_heads(base + 2, base + 5),
    )


def _late(outcome: str) -> Scenario:
    """A head ends in another way than as processed, and a late row compares before it and behind its sibling."""
    return scenario(
        f"late-after-{outcome}",
        start("s1"),
        load("s1", row(1, 1, 1), row(3, 3, 3)),
        load("s1", row(11, 11, 1, source="b"), row(13, 13, 3, source="b")),
        start("w1"),
        *execute("w1", outcome, named=3),
        *execute("w1", outcome, named=13),
        load("s1", row(2, 2, 2)),
        *_heads(2),
        # The same where the ended head was replayed meanwhile, and where the host can do that.
        replay("s1", 13),
        load("s1", row(12, 12, 2, source="b")),
        *_heads(12),
    )


def _upgrade(outcome: str) -> Scenario:
    """Rows without an ordinal turn up between executions, and close a cycle through a row that the first consumed."""
    return scenario(
        f"upgrade-after-{outcome}",
        start("s1"),
        load("s1", row(1, 2, 1), row(3, 1, 3)),
        start("w1"),
        *execute("w1", outcome),
        load("s1", row(2, 0, 2)),
        *execute("w1"),
        load("s1", row(4, 0, 4)),
        *execute("w1"),
        *execute("w1"),
    )


#: How a head may end besides as processed.
_OTHER_ENDS: Final = ("fatal", "skip")


def _worker_dies() -> tuple[Op, ...]:
    return start("w1"), claim("w1", 2), read("w1"), kill("w1"), time(PAST_LEASE_MS)


INPUTS: Final = (
    # What the boundary is compared with: stamped rows before and after one without an ordinal, and the other way
    # round; then rows of the same ordinal, whose arrival contradicts their Ids.
    scenario(
        "lower-ends",
        start("s1"),
        load(
            "s1",
            row(1, 5, 1, source="a"),
            row(2, 0, 2, source="a", state="processed"),
            row(3, 6, 3, source="a"),
            row(4, 0, 4, source="a"),
        ),
        load(
            "s1",
            row(11, 0, 1, source="b"),
            row(12, 5, 2, source="b", state="processed"),
            row(13, 0, 3, source="b"),
            row(14, 7, 4, source="b"),
        ),
        load(
            "s1",
            row(21, 5, 3, source="c"),
            row(22, 5, 2, source="c", state="processed"),
            row(23, 5, 1, source="c"),
            row(24, 6, 4, source="c"),
        ),
        start("w1"),
        *_heads(4, 14, 24),
    ),
    # Stamped rows of the CreatedDate of a head without an ordinal: DeliverySequence decides, and then the Id.
    scenario(
        "same-date",
        start("s1"),
        load(
            "s1",
            _undue(1, 5, 1, sequence=3),
            row(2, 0, 1, sequence=2),
            row(3, 3, 1, sequence=1),
            _undue(4, 4, 1, sequence=2),
        ),
        start("w1"),
        *_heads(2),
    ),
    scenario(
        "older-in-fresh-lane",
        start("s1"),
        start("w1"),
        *(op for number, marks in enumerate(_MARKS) for op in _older(10 * number, **marks)),
    ),
    # A row without an ordinal that an older version executed as a skip, with what it had taken in.
    scenario(
        "older-skip-without-ordinal",
        start("s1"),
        load(
            "s1",
            row(1, 0, 1, state="skipped"),
            row(2, 0, 2, state="skipped", token=True),
            row(3, 0, 3, state="skipped", token=True, error="failed"),
            row(4, 4, 4),
        ),
        start("w1"),
        *_heads(4),
    ),
    scenario(
        "skip-alone",
        start("s1"),
        deliver("s1", "d1", "a"),
        time(PAST_WINDOW_MS),
        start("w1"),
        *execute("w1", "skip"),
        deliver("s1", "d2", "b", "c"),
        time(PAST_WINDOW_MS),
        *execute("w1"),
    ),
    # Every worker of a head dies, until it is dead where a lost lease costs an attempt; then the next generation.
    scenario(
        "after-lost-leases",
        start("s1"),
        load("s1", row(1, 1, 1), row(2, 2, 2)),
        *(op for _ in range(BUDGET) for op in _worker_dies()),
        start("r1"),
        recover("r1"),
        load("s1", row(3, 3, 3), row(4, 4, 4)),
        start("w2"),
        *execute("w2", named=4),
    ),
    *(_late(outcome) for outcome in _OTHER_ENDS),
    *(_upgrade(outcome) for outcome in _OTHER_ENDS),
)
