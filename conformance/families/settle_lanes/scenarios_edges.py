"""Scenarios just ahead of an edge: a window, a backoff and a lease that are nearly over, and not over yet."""

from __future__ import annotations

from typing import Final

from conformance.families.settle_lanes.commands import claim, deliver, execute, finish, load, metrics, read, row
from conformance.families.settle_lanes.config import (
    BACKOFF_MS,
    LEASE_MS,
    MARGIN_MS,
    PAST_LEASE_MS,
    PAST_WINDOW_MS,
    WINDOW_MS,
)
from conformance.families.settle_lanes.scenarios import scenario
from conformance.search.program import kill, recover, start, time

EDGES: Final = (
    scenario(
        "window-nearly-over",
        start("s1"),
        deliver("s1", "d1", "a", "b"),
        time(WINDOW_MS - MARGIN_MS),
        start("w1"),
        *execute("w1"),
        metrics("s1"),
        deliver("s1", "d2", "c"),
        deliver("s1", "d3", "d", path="fallback"),
        time(2 * MARGIN_MS),
        metrics("s1"),
        *execute("w1"),
    ),
    scenario(
        "backoff-nearly-over",
        start("s1"),
        deliver("s1", "d1", "a"),
        time(PAST_WINDOW_MS),
        start("w1"),
        *execute("w1", "retryable"),
        time(BACKOFF_MS - MARGIN_MS),
        *execute("w1"),
        time(2 * MARGIN_MS),
        *execute("w1"),
    ),
    # Recovery runs and another worker polls; then the holder reports.
    scenario(
        "lease-nearly-over",
        start("s1"),
        deliver("s1", "d1", "a"),
        time(PAST_WINDOW_MS),
        start("w1"),
        claim("w1"),
        read("w1"),
        time(LEASE_MS - MARGIN_MS),
        start("r1"),
        recover("r1"),
        start("w2"),
        *execute("w2"),
        finish("w1"),
    ),
    # Another recovery and another worker are at the row at every point of a recovery that found it.
    scenario(
        "claimed-under-recovery",
        start("s1"),
        load("s1", row(1, 1, 1)),
        start("w1"),
        claim("w1"),
        kill("w1"),
        time(PAST_LEASE_MS),
        start("r1"),
        recover("r1"),
        claimed=(start("r2"), recover("r2"), start("w2"), claim("w2"), read("w2")),
    ),
)
