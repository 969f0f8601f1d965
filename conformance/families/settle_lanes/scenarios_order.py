"""Scenarios of the lane order: loaded lanes, each executed as one generation, in two orders of storing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from conformance.families.settle_lanes.commands import claim, execute, finish, load, read, row
from conformance.families.settle_lanes.config import PAST_BACKOFF_MS, PAST_LEASE_MS
from conformance.families.settle_lanes.lanes import MEMBERSHIPS, ORDERS, acyclic_part, rows
from conformance.families.settle_lanes.scenarios import NEVER_MS, scenario
from conformance.search.program import Op, kill, start, time
from conformance.search.scenario import Scenario

#: The lane whose Ids must stay as they are: 9 and 10 contradict each other as texts.
_BY_ID: Final = "zeros-three-level-ties"


def _whole(name: str, *, reverse: bool) -> Scenario:
    """Every lane as one generation of its closing head."""
    ops: list[Op] = [start("s1"), start("w1")]
    for number, (lane, text) in enumerate(ORDERS.items(), 1):
        found = rows(text, lane, 0 if lane == _BY_ID else 100 * number)
        head = found[-1]["id"]
        ops += [load("s1", *(reversed(found) if reverse else found)), *execute("w1", named=head)]
    return scenario(name, *ops)


def _members() -> Iterator[Op]:
    """One generation of a lane for each membership: its boundary is processed, every other row waits."""
    for number, (lane, boundary, head) in enumerate(MEMBERSHIPS, 1):
        offset = 100 * number
        found = rows(acyclic_part(ORDERS[lane]), f"{lane}-{number}", offset)
        yield load("s1", *({**r, "state": "processed"} if r["id"] - offset == boundary else r for r in found))
        yield from execute("w1", named=head + offset)


def _permuted() -> Iterator[Op]:
    """The same keys in lanes of other sources, their rows stored in other orders."""
    number = 0
    for lane in ("three-cycle", "cycle-with-neighbours", "after-the-break"):
        for turn in range(3):
            number += 1
            found = rows(ORDERS[lane], f"{lane}-{turn}", 100 * number)
            stored = [found, found[::-1], sorted(found, key=lambda r: r["created_at"])][turn]
            yield load("s1", *stored)
            yield from execute("w1", named=found[-1]["id"])


def _cycle(source: str, offset: int) -> list[dict[str, Any]]:
    return rows(ORDERS["after-the-break"], source, offset)


ORDER_SCENARIOS: Final = (
    _whole("orders", reverse=False),
    _whole("orders-reversed", reverse=True),
    scenario("memberships", start("s1"), start("w1"), *_members()),
    scenario("permuted", start("s1"), start("w1"), *_permuted()),
    # A cyclic generation is attempted twice: by the same worker after a failure, by another after a lost lease.
    scenario(
        "cycle-again",
        start("s1"),
        load("s1", *_cycle("a", 0), *_cycle("b", 100)),
        start("w1"),
        *execute("w1", "retryable", named=5),
        time(PAST_BACKOFF_MS),
        *execute("w1", named=5),
        claim("w1", 105),
        read("w1"),
        kill("w1"),
        time(PAST_LEASE_MS),
        start("w2"),
        *execute("w2", named=105),
    ),
    # A cycle that closes through a row outside the generation: stored and not due, or visible after the claim.
    scenario(
        "outside",
        start("s1"),
        load(
            "s1",
            row(1, 0, 1, state="processed"),
            row(2, 2, 2),
            row(3, 0, 3, not_before=NEVER_MS),
            row(4, 1, 4),
        ),
        load("s1", row(11, 0, 1, source="b", state="processed"), row(12, 2, 2, source="b"), row(14, 1, 4, source="b")),
        start("w1"),
        *execute("w1", named=2),
        claim("w1", 12),
        load("s1", row(13, 0, 3, source="b")),
        read("w1"),
        finish("w1"),
        *execute("w1"),
    ),
)
