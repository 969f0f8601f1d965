"""Scenarios about what callers are told: a provider that refuses, answers that prove nothing, a stale description."""

from __future__ import annotations

from typing import Final

from conformance.families.mutation_host.scenarios import CONFIG, FAMILY, RETRY_KEYED, invoke
from conformance.search.program import Op, script, start
from conformance.search.scenario import Scenario

_NOTHING: Final[frozenset[str]] = frozenset()


def _stale(op: Op) -> Op:
    """The same invocation with a revision of the description that is not current."""
    args = op.args["args"]
    return Op("call", {**op.args, "args": {**args, "request": {**args["request"], "revision": "r0"}}})


OUTCOME: Final = (
    # What a refusal leaves behind when the store fails at, or after, its record; another one, with which nothing went
    # wrong, shows what this provider's refusals are told as.
    Scenario(
        "mutation/refusal",
        FAMILY,
        CONFIG,
        (
            script("definite-refusal", "definite-refusal"),
            start("w0"),
            invoke("w0", "q0", "m0", "k0"),
            start("w1"),
            invoke("w1", "q1", "m1", "k1"),
        ),
        retry=RETRY_KEYED,
        remote_faults=False,
        strikes=frozenset({"fail", "lose-ack", "outage"}),
    ),
    # The status of a definite refusal without the body that makes it one.
    Scenario(
        "mutation/unproven-refusal",
        FAMILY,
        CONFIG,
        (script({"kind": "status", "status": 422}), start("w1"), invoke("w1", "q1", "m1", "k1")),
        retry=RETRY_KEYED,
        remote_faults=False,
        strikes=_NOTHING,
    ),
    Scenario(
        "mutation/stale-description",
        FAMILY,
        CONFIG,
        (start("w1"), _stale(invoke("w1", "q1", "m1", "k1")), invoke("w1", "q2", "m1", "k1")),
        retry=RETRY_KEYED,
        remote_faults=False,
        strikes=_NOTHING,
    ),
)
