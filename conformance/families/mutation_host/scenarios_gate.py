"""Scenarios about the gate, the abort ahead of it, and cancels: what no sweep of the plain calls brings about."""

from __future__ import annotations

from typing import Final

from conformance.families.mutation_host.scenarios import CONFIG, DEADLINE_MS, FAMILY, cancel, invoke
from conformance.search.program import (
    SETTLE,
    Op,
    crash_after,
    kill,
    pause_after,
    pause_before,
    recover,
    release,
    script,
    start,
    time,
)
from conformance.search.scenario import Scenario

_NEVER: Final[frozenset[str]] = frozenset()
#: The epilogue's process is started first; a script that has started it leaves that out.
_RETRY: Final = (start("e1"), recover("e1"), SETTLE, invoke("e1", "q8", "m1", "k1"), invoke("e1", "q1", "m1", "k1"))


def at_commit(proc: str, action: str, *effect: str | None, **members: str) -> Op:
    """Let an action strike the commit that has this row effect."""
    return Op("arm-effect", {"proc": proc, "effect": list(effect), "call": "commit", "action": action, **members})


GATE_SCENARIOS: Final = (
    # The gate commits unheard, and then the worker dies at each of its next writes.
    Scenario(
        "mutation/lost-gate",
        FAMILY,
        CONFIG,
        (
            start("w1"),
            at_commit("w1", "lose-ack", "mutation_attempt", "Prepared", "Dispatching", world="committed"),
            invoke("w1", "q1", "m1", "k1"),
        ),
        retry=_RETRY,
        remote_faults=False,
        strikes=frozenset({"crash"}),
    ),
    # A crash ahead of the gate, whose abort fails at first: a caller asks before the abort is durable, and after. Who
    # recovers is the same throughout.
    Scenario(
        "mutation/abort-put-off",
        FAMILY,
        CONFIG,
        (
            start("w1"),
            crash_after("w1", "mutation_attempt", None, "Prepared"),
            invoke("w1", "q1", "m1", "k1"),
            start("e1"),
            at_commit("e1", "fail", "mutation_attempt", "Prepared", "Aborted"),
            recover("e1"),
            start("w2"),
            invoke("w2", "q2", "m1", "k1"),
            time(DEADLINE_MS + 1_000),
            recover("e1"),
            invoke("w2", "q3", "m1", "k1"),
        ),
        retry=_RETRY[1:],
        remote_faults=False,
        strikes=_NEVER,
    ),
    # A crash behind the gate, whose settlement fails at first. The process that recovers goes on living, and no other
    # does it in its place: its next pass has to settle.
    Scenario(
        "mutation/settlement-put-off",
        FAMILY,
        CONFIG,
        (
            script("hold"),
            start("w1"),
            invoke("w1", "q1", "m1", "k1"),
            kill("w1"),
            start("e1"),
            at_commit("e1", "fail", "mutation_attempt", "Dispatching", "Indeterminate"),
            recover("e1"),
            time(DEADLINE_MS + 1_000),
        ),
        retry=_RETRY[1:],
        remote_faults=False,
        strikes=_NEVER,
    ),
    Scenario(
        "mutation/cancel-of-waiter",
        FAMILY,
        CONFIG,
        (
            script("hold"),
            start("w1"),
            pause_after("w1", "mutation_attempt", None, "Prepared"),
            invoke("w1", "q1", "m1", "k1"),
            start("w2"),
            invoke("w2", "q2", "m1", "k1"),
            start("c1"),
            cancel("c1", "q2"),
            Op("resume", {"proc": "w1"}),
            cancel("c1", "q2"),
            release("w1"),
        ),
        retry=_RETRY,
        remote_faults=False,
        strikes=_NEVER,
    ),
    # Two duplicates ask first and stand still, so that their time is over while the original still has some: one while
    # it is Prepared, the other while it is Dispatching.
    Scenario(
        "mutation/deadline-of-waiter",
        FAMILY,
        CONFIG,
        (
            start("w2"),
            pause_before("w2", "mutation_attempt", None, "Prepared"),
            invoke("w2", "q2", "m1", "k1"),
            time(5_000),
            start("w3"),
            pause_before("w3", "mutation_attempt", None, "Prepared"),
            invoke("w3", "q3", "m1", "k1"),
            time(5_000),
            script("hold"),
            start("w1"),
            pause_after("w1", "mutation_attempt", None, "Prepared"),
            invoke("w1", "q1", "m1", "k1"),
            Op("resume", {"proc": "w2"}),
            time(DEADLINE_MS - 9_000),
            Op("resume", {"proc": "w1"}),
            Op("resume", {"proc": "w3"}),
            time(5_000),
            release("w1"),
        ),
        retry=_RETRY,
        remote_faults=False,
        strikes=_NEVER,
    ),
    # A cancel that comes too late stands still while the worker settles.
    Scenario(
        "mutation/cancel-beside-held-worker",
        FAMILY,
        CONFIG,
        (script("hold"), start("w1"), invoke("w1", "q1", "m1", "k1"), start("c1"), cancel("c1", "q1"), release("w1")),
        retry=_RETRY,
        seconds={"answer": (release("w1"),), "refusal": (release("w1", "definite-refusal"),)},
        remote_faults=False,
        strikes=_NEVER,
    ),
    Scenario(
        "mutation/part-done",
        FAMILY,
        CONFIG,
        (script("part-done"), start("w1"), invoke("w1", "q1", "m1", "k1")),
        retry=_RETRY,
        remote_faults=False,
        strikes=_NEVER,
    ),
)
