"""Scenarios of the settle window: enqueue, reuse of an open timestamp, metrics, modes, claims and budgets."""

from __future__ import annotations

from typing import Final

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
    row,
)
from conformance.families.settle_lanes.config import (
    BUDGET,
    CONFIG,
    FAMILY,
    PAST_BACKOFF_MS,
    PAST_LEASE_MS,
    PAST_WINDOW_MS,
    WINDOW_MS,
)
from conformance.search.process import EPOCH_MS
from conformance.search.program import SNAPSHOT, Op, recover, start, time
from conformance.search.scenario import Scenario

#: No fault of the sweep: what these scenarios are about is in their scripts.
AS_WRITTEN: Final[frozenset[str]] = frozenset()
CRASHES: Final = frozenset({"crash"})
ALL: Final = frozenset({"fail", "lose-ack", "crash"})
#: A time that no schedule reaches: a row that waits until then is stored and not due.
NEVER_MS: Final = EPOCH_MS + 10**9


def scenario(
    name: str, *ops: Op, strikes: frozenset[str] = AS_WRITTEN, retry: tuple[Op, ...] = (), **seconds: tuple[Op, ...]
) -> Scenario:
    """A scenario of this family; without faults of the sweep unless ``strikes`` or second actors ask for them."""
    return Scenario(
        f"lane/{name}", FAMILY, CONFIG, ops, retry=retry, seconds=seconds, remote_faults=False, strikes=strikes
    )


#: What every schedule ends with: lapsed claims go back, backoffs and windows pass, and workers run to idle.
TAIL: Final = (
    start("e1"),
    time(PAST_LEASE_MS),
    recover("e1"),
    *execute("e1"),
    time(PAST_BACKOFF_MS),
    *execute("e1"),
    *execute("e1"),
    SNAPSHOT,
)

_BATCH: Final = ("a", "b", event("c", "beta"))
_AGAIN: Final = (start("e1"), deliver("e1", "d1", *_BATCH, path="fallback"))
_WORKER: Final = (start("w2"), *execute("w2"))
_RECOVER: Final = (start("r2"), recover("r2"))
_LATE: Final = (start("s2"), deliver("s2", "d9", "late"))

_ENQUEUE: Final = (
    scenario("enqueue-bulk", start("s1"), deliver("s1", "d1", *_BATCH), strikes=ALL, retry=_AGAIN),
    scenario("enqueue-fallback", start("s1"), deliver("s1", "d1", *_BATCH, path="fallback"), strikes=ALL, retry=_AGAIN),
    # The bulk write of a later delivery fails: its rows still come after those of the first.
    scenario(
        "enqueue-after",
        start("s0"),
        deliver("s0", "d0", "x"),
        start("s1"),
        deliver("s1", "d1", *_BATCH),
        strikes=frozenset({"fail"}),
        retry=_AGAIN,
    ),
    scenario(
        "paths",
        start("s1"),
        deliver("s1", "d1", "a", "b"),
        deliver("s1", "d2", "c"),
        deliver("s1", "d3", "d", path="fallback"),
        deliver("s1", "d4", "e"),
        deliver("s1", "d3", "d"),
        deliver("s1", "d4", "e", path="fallback"),
        time(PAST_WINDOW_MS),
        deliver("s1", "d3", "d"),
    ),
    scenario(
        "both-routes",
        start("s1"),
        deliver("s1", "d1", event("a", kind="both"), event("b", kind="both")),
        deliver("s1", "d1", event("a", kind="both"), event("b", kind="both")),
        start("w1"),
        *execute("w1"),
        time(PAST_WINDOW_MS),
        *execute("w1"),
    ),
)

_EXISTING: Final = ("preserve", "full", "latest", "each")

_WINDOW: Final = (
    # One burst over deliveries and paths, beside another source, another route and a window that opens after it.
    scenario(
        "window",
        start("s1"),
        deliver("s1", "d1", "a", "b"),
        start("w1"),
        *execute("w1"),
        start("w2"),
        *execute("w2"),
        time(3_000),
        deliver("s1", "d2", "c"),
        deliver("s1", "d3", "d", path="fallback"),
        deliver("s1", "d4", event("e", "beta")),
        deliver("s1", "d5", event("f", "acme", "other")),
        metrics("s1"),
        *execute("w2"),
        time(WINDOW_MS - 2_000),
        deliver("s1", "d6", "g"),
        metrics("s1"),
        claim("w1"),
        metrics("s1"),
        read("w1"),
        finish("w1"),
        metrics("s1"),
        *execute("w2"),
        *execute("w1"),
    ),
    scenario(
        "burst",
        start("s1"),
        deliver("s1", "d1", "a", "b"),
        time(2_000),
        deliver("s1", "d2", "c"),
        time(WINDOW_MS),
        metrics("s1"),
        start("w1"),
        *execute("w1"),
        metrics("s1"),
        start("w2"),
        *execute("w2"),
    ),
    # Two open timestamps, as two racing enqueues leave them.
    scenario(
        "two-open",
        start("s1"),
        load("s1", row(1, 1, 0, not_before=EPOCH_MS + 8_000), row(2, 2, 0, not_before=EPOCH_MS + 5_000)),
        deliver("s1", "d1", "a"),
    ),
    # The wall clock jumps over the end of the window, and back to the other side of it.
    scenario(
        "clock-jump",
        start("s1"),
        deliver("s1", "d1", "a"),
        time(1_000, wall_jump_ms=2 * WINDOW_MS),
        metrics("s1"),
        deliver("s1", "d2", "b"),
        time(0, wall_jump_ms=-2 * WINDOW_MS),
        metrics("s1"),
        start("w1"),
        *execute("w1"),
        time(PAST_WINDOW_MS),
        *execute("w1"),
    ),
    scenario(
        "backoff",
        start("s1"),
        deliver("s1", "d1", "a"),
        time(PAST_WINDOW_MS),
        start("w1"),
        *execute("w1", "retryable"),
        deliver("s1", "d2", "b"),
        metrics("s1"),
        *execute("w1"),
        time(PAST_BACKOFF_MS),
        *execute("w1"),
    ),
    # By name and by a poll, each lane with one row whose time has not come.
    scenario(
        "by-name",
        start("s1"),
        load(
            "s1",
            row(1, 1, 0, not_before=EPOCH_MS + WINDOW_MS),
            row(2, 2, 0, source="beta", not_before=EPOCH_MS + WINDOW_MS),
        ),
        start("w1"),
        *execute("w1", named=1),
        *execute("w1"),
        time(PAST_WINDOW_MS),
        *execute("w1", "retryable", named=1),
        *execute("w1", named=1),
        *execute("w1", named=2),
    ),
)

_MODES: Final = (
    scenario(
        "existing-modes",
        start("s1"),
        *(deliver("s1", f"d-{kind}", event("a", kind=kind)) for kind in _EXISTING),
        deliver("s1", "d-mixed", event("s", "beta"), *(event("b", kind=kind) for kind in _EXISTING)),
        start("w1"),
        *(op for _ in range(5) for op in execute("w1")),
    ),
    scenario(
        "existing-while-running",
        start("s1"),
        deliver("s1", "d1", event("a", kind="preserve"), event("b", kind="preserve")),
        start("w1"),
        claim("w1"),
        read("w1"),
        deliver("s1", "d2", event("c", kind="preserve")),
        finish("w1"),
        *execute("w1"),
    ),
    scenario(
        "normalize",
        start("s1"),
        *(
            normalize("s1", mode, has_filter)
            for mode in ("each", "latest", "full_record", "full_record_preserve", "settled")
            for has_filter in (False, True)
        ),
    ),
)


def _stale(outcome: str) -> Scenario:
    """A worker reports after its lease has run out and another one holds its row."""
    return scenario(
        f"stale-{outcome}",
        start("s1"),
        load("s1", row(1, 1, 1), row(2, 2, 2)),
        start("w1"),
        claim("w1"),
        read("w1"),
        time(PAST_LEASE_MS),
        start("w2"),
        claim("w2"),
        read("w2"),
        finish("w1", outcome),
        finish("w2"),
    )


#: As many failures as the budget has attempts, each with its backoff.
FAILING: Final = tuple(op for _ in range(BUDGET) for op in (*execute("w1", "retryable"), time(PAST_BACKOFF_MS)))

_CLAIMS: Final = (
    # One execution, struck at every call, with a second worker, a recovery or a late row at every stop.
    scenario(
        "execute",
        start("s1"),
        deliver("s1", "d1", "a", "b"),
        time(PAST_WINDOW_MS),
        start("w1"),
        *execute("w1"),
        strikes=ALL,
        worker=_WORKER,
        recover=_RECOVER,
        late=_LATE,
    ),
    scenario(
        "fail",
        start("s1"),
        deliver("s1", "d1", "a", "b"),
        time(PAST_WINDOW_MS),
        start("w1"),
        *execute("w1", "retryable"),
        strikes=ALL,
    ),
    # While a row is executed, a later one of its lane waits and another lane goes on.
    scenario(
        "busy",
        start("s1"),
        load("s1", row(1, 1, 1), row(3, 3, 3, source="beta")),
        start("w1"),
        claim("w1", 1),
        read("w1"),
        load("s1", row(2, 2, 2)),
        start("w2"),
        *execute("w2"),
        *execute("w2"),
        start("r1"),
        recover("r1"),
        *execute("w2"),
        finish("w1"),
        *execute("w2"),
    ),
    *(_stale(outcome) for outcome in ("success", "skip", "retryable", "fatal")),
    scenario("budget-settled", start("s1"), deliver("s1", "d1", "a"), time(PAST_WINDOW_MS), start("w1"), *FAILING),
    scenario("budget-existing", start("s1"), deliver("s1", "d1", event("a", kind="preserve")), start("w1"), *FAILING),
    # A successor that came in while the head failed, and then fails by itself.
    scenario(
        "budget-successor",
        start("s1"),
        load("s1", row(1, 1, 1)),
        start("w1"),
        claim("w1"),
        read("w1"),
        load("s1", row(2, 2, 2)),
        finish("w1", "retryable"),
        time(PAST_BACKOFF_MS),
        *FAILING,
    ),
)

WINDOWS: Final = (*_ENQUEUE, *_WINDOW, *_MODES, *_CLAIMS)
