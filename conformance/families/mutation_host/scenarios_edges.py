"""Scenarios just ahead of an edge: a deadline or a retention that is nearly over, or counted from another start."""

from __future__ import annotations

from typing import Final

from conformance.families.mutation_host.config import NEARLY_MS
from conformance.families.mutation_host.scenarios import (
    CONFIG,
    DEADLINE_MS,
    FAMILY,
    RETENTION_MS,
    RETRY_KEYED,
    housekeep,
    invoke,
)
from conformance.families.mutation_host.scenarios_keys import ask
from conformance.search.program import Op, pause_after, release, script, start, time
from conformance.search.scenario import Scenario

_RESUME: Final = Op("resume", {"proc": "w1"})
_HELD_UP: Final = (start("w1"), pause_after("w1", "mutation_attempt", None, "Prepared"), invoke("w1", "q1", "m1", "k1"))


def _edge(name: str, *ops: Op) -> Scenario:
    return Scenario(f"edges/{name}", FAMILY, CONFIG, ops, retry=RETRY_KEYED, remote_faults=False, strikes=frozenset())


#: Room for one more key, and another candidate at every point of the one that comes first.
_LAST_ROOM: Final = Scenario(
    "edges/last-room",
    FAMILY,
    {**CONFIG, "capacity": {"reservations": 2}},
    (start("w1"), ask("w1", "q1", "k1"), ask("w1", "q2", "k2")),
    retry=RETRY_KEYED,
    seconds={"rival": (start("w2"), ask("w2", "q3", "k3"))},
    remote_faults=False,
    strikes=frozenset(),
)

EDGES: Final = (
    _edge(
        "provider-in-time",
        script("hold"),
        start("w1"),
        invoke("w1", "q1", "m1", "k1"),
        time(DEADLINE_MS - NEARLY_MS),
        release("w1"),
    ),
    _edge("gate-in-time", *_HELD_UP, time(DEADLINE_MS - NEARLY_MS), _RESUME),
    # A known result shortly ahead of its expiry, ahead of housekeeping and behind it.
    _edge(
        "retention-nearly-over",
        start("w1"),
        *(ask("w1", f"q{n}", f"k{n}") for n in range(1, 5)),
        time(RETENTION_MS - NEARLY_MS),
        ask("w1", "q5", "k1"),
        ask("w1", "q6", "k2", n=2),
        housekeep("w1"),
        ask("w1", "q7", "k3"),
        ask("w1", "q8", "k4", n=2),
    ),
    # A duplicate waits, and the original is answered when little of the time of either is left.
    _edge(
        "wait-in-time",
        script("hold"),
        start("w1"),
        invoke("w1", "q1", "m1", "k1"),
        start("w2"),
        invoke("w2", "q2", "m1", "k1"),
        time(DEADLINE_MS - NEARLY_MS),
        release("w1"),
    ),
    # The call takes its time before it is sent, and only then the provider stalls.
    _edge(
        "provider-stalls",
        script("hold"),
        *_HELD_UP,
        time(DEADLINE_MS - NEARLY_MS),
        _RESUME,
        time(2 * NEARLY_MS),
        time(DEADLINE_MS),
    ),
    _LAST_ROOM,
)
