"""A crash between spend and gate, as recovery and a caller meet it."""

from __future__ import annotations

from typing import Final

from conformance.families.mutation_host.scenarios import DEADLINE_MS, FAMILY
from conformance.families.mutation_host.scenarios_approvals import SPENDING, pay
from conformance.families.mutation_host.scenarios_gate import at_commit
from conformance.search.program import SETTLE, crash_after, recover, start, time
from conformance.search.scenario import Scenario

SPEND_SCENARIOS: Final = (
    # The abort of recovery fails at first: the caller asks before the abort is durable, and after.
    Scenario(
        "mutation/spent-abort-put-off",
        FAMILY,
        SPENDING,
        (
            start("w1"),
            crash_after("w1", "approval", None, "Spent"),
            pay("w1", "q1", "k1"),
            start("r1"),
            at_commit("r1", "fail", "mutation_attempt", "Prepared", "Aborted"),
            recover("r1"),
            start("w2"),
            pay("w2", "q2", "k1"),
            time(DEADLINE_MS + 1_000),
            recover("r1"),
            pay("w2", "q3", "k1"),
        ),
        retry=(start("e1"), recover("e1"), SETTLE, pay("e1", "q8", "k1")),
        remote_faults=False,
        strikes=frozenset(),
    ),
)
