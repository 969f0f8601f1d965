"""Scenarios of generations: what bounds one, what belongs to it, and what becomes of late, failed and replayed rows."""

from __future__ import annotations

from typing import Any, Final

from conformance.families.settle_lanes.commands import claim, deliver, execute, finish, load, read, replay, row
from conformance.families.settle_lanes.config import BUDGET, PAST_BACKOFF_MS, PAST_LEASE_MS, PAST_WINDOW_MS
from conformance.families.settle_lanes.scenarios import CRASHES, NEVER_MS, scenario
from conformance.search.program import SNAPSHOT, Op, kill, recover, start, time
from conformance.search.scenario import Scenario


def _undue(id_: int, ordinal: int, second: float, **members: Any) -> dict[str, Any]:
    """A row that is stored and will not be due."""
    return row(id_, ordinal, second, not_before=NEVER_MS, **members)


def _heads(*ids: int) -> tuple[Op, ...]:
    return tuple(op for id_ in ids for op in execute("w1", named=id_))


_KEYS: Final = (
    # Each lane shows one way of comparing: stamped pairs, rows without an ordinal, two keys at once, equal ordinals.
    scenario(
        "keys",
        start("s1"),
        load("s1", row(1, 1, 5, source="a"), row(2, 2, 1, source="a"), _undue(3, 9, 0.5, source="a")),
        load("s1", row(11, 0, 1, source="b"), row(12, 5, 2, source="b"), _undue(13, 0, 3, source="b")),
        load("s1", row(21, 7, 1, source="c"), row(22, 0, 2, source="c"), _undue(23, 9, 3, source="c")),
        load(
            "s1",
            row(31, 2, 3, source="d", state="processed"),
            row(32, 3, 1, source="d"),
            row(34, 1, 3.5, source="d"),
            row(33, 0, 4, source="d"),
        ),
        load("s1", row(41, 5, 9, source="e"), row(42, 5, 1, source="e")),
        load("s1", row(51, 5, 9, source="f"), _undue(52, 5, 9.5, source="f")),
        start("w1"),
        SNAPSHOT,
        *_heads(2, 12, 22, 33, 42, 51),
    ),
    scenario(
        "foreign",
        start("s1"),
        load("s1", row(1, 1, 1, source="g"), row(3, 3, 3, source="g")),
        load("s1", row(2, 2, 2, source="h", state="processed")),
        load("s1", row(11, 11, 11, source="i"), row(13, 13, 13, source="i")),
        load("s1", row(12, 12, 12, source="i", route="other", state="processed")),
        start("w1"),
        *_heads(3, 13),
    ),
    # Rows that an older version superseded, with each combination of token and diagnostic.
    scenario(
        "older",
        start("s1"),
        load(
            "s1",
            row(1, 0, 1, source="a"),
            row(2, 2, 2, source="a", state="skipped", token=True, error="failed"),
            row(3, 3, 3, source="a"),
        ),
        load(
            "s1",
            row(11, 0, 1, source="b"),
            row(12, 2, 2, source="b", state="skipped"),
            row(13, 3, 3, source="b"),
        ),
        load(
            "s1",
            row(21, 0, 1, source="c"),
            row(22, 2, 2, source="c", state="skipped", error="failed"),
            row(23, 3, 3, source="c"),
        ),
        load(
            "s1",
            row(31, 1, 1, source="d", state="skipped"),
            row(32, 2, 2, source="d", state="skipped", token=True),
            row(33, 3, 3, source="d", state="skipped", token=True, error="failed"),
            row(34, 4, 4, source="d"),
        ),
        load(
            "s1",
            row(41, 1, 1, source="e", state="skipped"),
            row(42, 2, 2, source="e", state="processed"),
            row(43, 3, 3, source="e"),
            row(44, 4, 4, source="e"),
        ),
        start("w1"),
        *_heads(3, 13, 23, 34, 44),
    ),
)


def _ended(name: str, *outcomes: str) -> Scenario:
    """A generation of two ends in one way, then comes the next generation of two."""
    ops = [op for outcome in outcomes for op in (*execute("w1", outcome, named=2), time(PAST_BACKOFF_MS))]
    return scenario(
        f"after-{name}",
        start("s1"),
        load("s1", row(1, 1, 1), row(2, 2, 2)),
        start("w1"),
        *ops,
        load("s1", row(3, 3, 3), row(4, 4, 4)),
        *_heads(4),
        time(PAST_LEASE_MS),
        start("r1"),
        recover("r1"),
        *execute("w1"),
    )


def _replayed(route: str, outcome: str, base: int) -> tuple[Op, ...]:
    """Two rows of a lane end as one generation, and the head is replayed and executed."""
    source = f"{route}-{outcome}"
    return (
        load(
            "s1",
            row(base + 1, base + 1, base + 1, source=source, route=route),
            row(base + 2, base + 2, base + 2, source=source, route=route),
        ),
        *execute("w1", outcome, named=base + 2),
        time(PAST_LEASE_MS),
        replay("s1", base + 2),
        time(PAST_WINDOW_MS),
        *execute("w1"),
        start("r1"),
        recover("r1"),
    )


_ENDS: Final = (
    _ended("success", "success"),
    _ended("skip", "skip"),
    _ended("fatal", "fatal"),
    _ended("budget", *("retryable",) * BUDGET),
    _ended("failure-and-skip", "retryable", "skip"),
    scenario(
        "replay",
        start("s1"),
        start("w1"),
        *_replayed("settled", "success", 10),
        *_replayed("settled", "fatal", 20),
        *_replayed("preserve", "success", 30),
        *_replayed("preserve", "fatal", 40),
    ),
    # Replay of a row that died alone: its fresh row is the whole generation.
    scenario(
        "replay-alone",
        start("s1"),
        load("s1", row(1, 1, 1, source="a"), row(2, 2, 2, source="b")),
        start("w1"),
        *execute("w1", "fatal", named=1),
        *execute("w1", "success", named=2),
        replay("s1", 1),
        replay("s1", 1),
        replay("s1", 2),
        time(PAST_WINDOW_MS),
        *execute("w1"),
        *execute("w1"),
    ),
    # Dead, replayed, retried with a backoff, and then a successor; in the other lane there is none.
    scenario(
        "replay-fails",
        start("s1"),
        load("s1", row(1, 1, 1), row(2, 2, 2), row(11, 11, 1, source="b"), row(12, 12, 2, source="b")),
        start("w1"),
        *execute("w1", "fatal", named=2),
        *execute("w1", "fatal", named=12),
        replay("s1", 2),
        replay("s1", 12),
        time(PAST_WINDOW_MS),
        *execute("w1", "retryable"),
        *execute("w1", "retryable"),
        deliver("s1", "d1", "successor"),
        time(PAST_BACKOFF_MS),
        *execute("w1"),
        *execute("w1"),
    ),
)

_DELIVERIES: Final = (
    scenario(
        "deliveries",
        start("s1"),
        deliver("s1", "d1", "a"),
        deliver("s1", "d2", "b", "c"),
        time(PAST_WINDOW_MS),
        start("w1"),
        *execute("w1"),
        deliver("s1", "d3", "d"),
        deliver("s1", "d4", "e"),
        time(PAST_WINDOW_MS),
        *execute("w1"),
    ),
    scenario(
        "one-delivery",
        start("s1"),
        load(
            "s1",
            row(1, 1, 1, delivery="D", sequence=0),
            row(2, 2, 2, delivery="D", sequence=1),
            row(3, 3, 3, delivery="D", sequence=2),
        ),
        start("w1"),
        *_heads(2, 3),
    ),
)

_RETRIES: Final = (
    scenario(
        "retry",
        start("s1"),
        load("s1", row(1, 1, 1), row(2, 2, 2)),
        start("w1"),
        *execute("w1", "retryable"),
        time(PAST_BACKOFF_MS),
        *execute("w1"),
    ),
    scenario(
        "lease-lost",
        start("s1"),
        load("s1", row(1, 1, 1), row(2, 2, 2)),
        start("w1"),
        claim("w1"),
        read("w1"),
        kill("w1"),
        time(PAST_LEASE_MS),
        start("w2"),
        *execute("w2"),
    ),
    # A failed head, and one whose lease was lost, are superseded by a later row.
    scenario(
        "superseded",
        start("s1"),
        load("s1", row(1, 1, 1), row(2, 2, 2)),
        start("w1"),
        *execute("w1", "retryable"),
        load("s1", row(3, 3, 3)),
        time(PAST_BACKOFF_MS),
        *execute("w1"),
    ),
    scenario(
        "lease-superseded",
        start("s1"),
        load("s1", row(1, 1, 1), row(2, 2, 2)),
        start("w1"),
        claim("w1"),
        read("w1"),
        kill("w1"),
        load("s1", row(3, 3, 3)),
        time(PAST_LEASE_MS),
        start("r1"),
        recover("r1"),
        start("w2"),
        *execute("w2"),
        strikes=CRASHES,
    ),
)

_ARRIVALS: Final = (
    scenario(
        "arrives-before-input",
        start("s1"),
        deliver("s1", "d1", "a"),
        time(PAST_WINDOW_MS),
        start("w1"),
        claim("w1"),
        deliver("s1", "d2", "b"),
        read("w1"),
        deliver("s1", "d2", "b", path="fallback"),
        finish("w1"),
        time(PAST_WINDOW_MS),
        *execute("w1"),
    ),
    scenario(
        "arrives-before-retry",
        start("s1"),
        deliver("s1", "d1", "a"),
        time(PAST_WINDOW_MS),
        start("w1"),
        *execute("w1", "retryable"),
        time(PAST_BACKOFF_MS),
        deliver("s1", "d2", "b"),
        *execute("w1"),
        time(PAST_WINDOW_MS),
        *execute("w1"),
    ),
    # Rows that are committed late and compare before a head that has ended.
    scenario(
        "late",
        start("s1"),
        load("s1", row(1, 1, 1), row(3, 3, 3)),
        load(
            "s1", row(11, 11, 1, source="b", state="processed"), row(12, 12, 2, source="b"), row(14, 14, 4, source="b")
        ),
        start("w1"),
        *_heads(3, 14),
        load("s1", row(2, 2, 2), row(13, 13, 3, source="b")),
        *_heads(2, 13),
    ),
    scenario(
        "late-pair",
        start("s1"),
        load("s1", row(3, 3, 3)),
        start("w1"),
        *_heads(3),
        load("s1", row(1, 1, 1), row(2, 2, 2)),
        *execute("w1", "retryable"),
        time(PAST_BACKOFF_MS),
        *execute("w1"),
    ),
    # A row between boundary and head becomes visible after the claim.
    scenario(
        "visible-before-input",
        start("s1"),
        load("s1", row(1, 1, 1), row(3, 3, 3)),
        start("w1"),
        claim("w1", 3),
        load("s1", row(2, 2, 2)),
        read("w1"),
        finish("w1"),
        *execute("w1"),
    ),
    scenario(
        "visible-before-retry",
        start("s1"),
        load("s1", row(1, 1, 1), row(3, 3, 3)),
        start("w1"),
        *execute("w1", "retryable", named=3),
        load("s1", row(2, 2, 2)),
        time(PAST_BACKOFF_MS),
        *execute("w1"),
        *execute("w1"),
    ),
)

_CYCLES: Final = (
    # A due burst on a cycle: the first head fails once, and nothing that was collapsed into it may be lost.
    scenario(
        "cycle-fails",
        start("s1"),
        load("s1", row(1, 2, 1), row(2, 0, 2), row(3, 1, 3)),
        start("w1"),
        *execute("w1", "retryable"),
        time(PAST_BACKOFF_MS),
        *execute("w1"),
        *execute("w1"),
        *execute("w1"),
    ),
    # An upgrade in the middle: rows without an ordinal turn up between executions of stamped ones.
    scenario(
        "upgrade",
        start("s1"),
        load("s1", row(1, 2, 1), row(3, 1, 3)),
        start("w1"),
        *execute("w1"),
        load("s1", row(2, 0, 2)),
        *execute("w1"),
        load("s1", row(4, 0, 4)),
        *execute("w1"),
        *execute("w1"),
    ),
)

GENERATIONS: Final = (*_KEYS, *_ENDS, *_DELIVERIES, *_RETRIES, *_ARRIVALS, *_CYCLES)
