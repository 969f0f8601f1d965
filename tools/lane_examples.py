"""Conversations of the reference about settle lanes, as text for the page of that family (see `write_docs.py`)."""

from __future__ import annotations

import sys

from protocol_examples import Tape, of, play

from conformance.carriers.subprocess import ForkedCarrier
from conformance.families.settle_lanes.commands import (
    claim,
    deliver,
    event,
    execute,
    finish,
    load,
    metrics,
    normalize,
    read,
    replay,
    row,
)
from conformance.families.settle_lanes.config import CONFIG, FAMILY, PAST_BACKOFF_MS, PAST_LEASE_MS, PAST_WINDOW_MS
from conformance.search.program import Op, Program, kill, recover, start, time


def lane_examples() -> dict[str, str]:
    """Every example of settle lanes by name."""
    carrier = ForkedCarrier("reference:process", [sys.executable, "-m", "reference_impl"])

    def tape(*ops: Op) -> Tape:
        return play(carrier, Program("example", FAMILY, CONFIG, ops, {}))

    try:
        rows = (event("first"), event("second"))
        burst = tape(
            start("s1"),
            deliver("s1", "d1", *rows),
            start("s2"),
            deliver("s2", "d1", *rows, path="fallback"),
            metrics("s2"),
            start("w1"),
            claim("w1"),
            time(PAST_WINDOW_MS),
            metrics("s2"),
            claim("w1"),
            read("w1"),
            finish("w1", "retryable"),
            time(PAST_BACKOFF_MS),
            start("w2"),
            *execute("w2"),
            start("o1"),
            normalize("o1", "settled", False),
            normalize("o1", "settled", True),
        )
        dead = tape(
            start("s1"),
            load("s1", row(1, 0, 1), row(2, 7, 2)),
            start("w1"),
            *execute("w1", "fatal"),
            replay("s1", 2),
            claim("w1"),
            kill("w1"),
            time(PAST_LEASE_MS),
            start("r1"),
            recover("r1"),
        )
        snapshots = [m["id"] for _, proc, m in burst.lines if proc == "observer" and m.get("cmd") == "snapshot"]
        last = snapshots[-1]
        return {
            "lane-deliver": of(burst, "s1", "lane.deliver"),
            "lane-deliver-again": of(burst, "s2", "lane.deliver"),
            "lane-load-rows": of(dead, "s1", "lane.load_rows"),
            "lane-claim": of(burst, "w1", "lane.claim"),
            "lane-input": of(burst, "w1", "lane.input"),
            "lane-finish": "\n".join([of(burst, "w1", "lane.finish"), of(burst, "w2", "lane.finish")]),
            "lane-replay": of(dead, "s1", "lane.replay"),
            "lane-metrics": of(burst, "s2", "lane.metrics"),
            "lane-normalize": of(burst, "o1", "lane.normalize"),
            "lane-recover": of(dead, "r1", "recover"),
            "lane-snapshot": burst.dialogue(lambda proc, m: proc == "observer" and m["id"] == last),
        }
    finally:
        carrier.shutdown()
