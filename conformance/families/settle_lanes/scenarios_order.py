"""Scenarios of the lane order: loaded lanes, each executed as one generation, in two orders of storing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from conformance.families.settle_lanes.commands import claim, execute, finish, load, read, replay, row
from conformance.families.settle_lanes.config import PAST_BACKOFF_MS, PAST_LEASE_MS
from conformance.families.settle_lanes.lanes import MEMBERSHIPS, ORDERS, TWINS, acyclic_part, rows
from conformance.families.settle_lanes.scenarios import NEVER_MS, scenario
from conformance.search.program import Op, kill, recover, start, time
from conformance.search.scenario import Scenario

#: The lane whose Ids must stay as they are: 9 and 10 contradict each other as texts.
_BY_ID: Final = "zeros-three-level-ties"
#: (lane, boundary, head), as in ``lanes``.
_Membership: TypeAlias = tuple[str, int | None, int]


def _whole(name: str, *, reverse: bool) -> Scenario:
    """Every lane as one generation of its closing head."""
    ops: list[Op] = [start("s1"), start("w1")]
    for number, (lane, text) in enumerate(ORDERS.items(), 1):
        found = rows(text, lane, 0 if lane == _BY_ID else 100 * number)
        head = found[-1]["id"]
        ops += [load("s1", *(reversed(found) if reverse else found)), *execute("w1", named=head)]
    return scenario(name, *ops)


def _members(memberships: Iterable[_Membership], base: int = 0) -> Iterator[Op]:
    """One generation of a lane for each membership: its boundary is processed, every other row waits."""
    for number, (lane, boundary, head) in enumerate(memberships, 1):
        offset = base + 100 * number
        found = rows(acyclic_part(ORDERS[lane]), f"{lane}-{number}", offset)
        yield load("s1", *({**r, "state": "processed"} if r["id"] - offset == boundary else r for r in found))
        yield from execute("w1", named=head + offset)


def _twins() -> Iterator[Op]:
    """The lanes of ``TWINS``, each as one generation, then cut at many places."""
    for number, lane in enumerate(dict.fromkeys(lane for lane, _, _ in TWINS), 1):
        found = rows(ORDERS[lane], lane, 100 * number)
        yield load("s1", *found)
        yield from execute("w1", named=found[-1]["id"])
    yield from _members(TWINS, 1000)


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
    scenario("memberships", start("s1"), start("w1"), *_members(MEMBERSHIPS)),
    scenario("twins", start("s1"), start("w1"), *_twins()),
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
    # Heads without an ordinal fail, lose their lease and end in each way; one of them is replayed. All of them arrived
    # before time began, so that a replay at whatever time comes after its original.
    scenario(
        "zero-heads",
        start("s1"),
        load("s1", *(row(10 * i + 1, 0, i - 9, source=source) for i, source in enumerate("abcd"))),
        load("s1", row(2, 1, -8.5, source="a"), row(12, 2, -7.5, source="b")),
        start("w1"),
        *execute("w1", "retryable", named=1),
        *execute("w1", "fatal", named=21),
        *execute("w1", "skip", named=31),
        claim("w1", 11),
        read("w1"),
        kill("w1"),
        time(PAST_BACKOFF_MS),
        start("w2"),
        recover("w2"),
        replay("s1", 21),
        *execute("w2", named=11),
        *execute("w2", named=1),
    ),
)
