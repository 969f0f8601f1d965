"""Scenarios that field faults asked for (spec/field.yaml): names that melt into one, long keys, turned members,
an approval that expires under way.

Each is one schedule: what the sweep could add is met by the scenarios of a plain invocation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.families.mutation_host.config import given, host, operation, record
from conformance.families.mutation_host.scenarios import ALICE, CONFIG, FAMILY
from conformance.families.mutation_host.scenarios_approvals import pay
from conformance.families.mutation_host.scenarios_keys import ask, quiet
from conformance.search.process import EPOCH_MS
from conformance.search.program import Op, call, pause_after, release, script, start, time
from conformance.search.scenario import Scenario

_MAY: Final = ["thing.write", "thing.touch"]
#: Two callers each that are one as soon as null, or the border between two names, is lost.
_PAIRS: Final[tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...]] = (
    ({**ALICE, "tenant": "north"}, {**ALICE, "realm": "north"}),
    ({**ALICE, "tenant": "a:b", "realm": "c"}, {**ALICE, "tenant": "a", "realm": "b:c"}),
)
JOINED: Final = {**CONFIG, "callers": [{**who, "may": _MAY} for pair in _PAIRS for who in pair]}


def _pairs(proc: str, prefix: str, which: int) -> tuple[Op, ...]:
    """One request of each pair's first or second caller, under a key for each pair."""
    return tuple(ask(proc, f"{prefix}{n}", f"k{n}", context=pair[which]) for n, pair in enumerate(_PAIRS))


_JOINED_NAMES = quiet(
    "joined-names",
    (start("w1"), start("w2"), *_pairs("w1", "a", 0), *_pairs("w2", "b", 1), *_pairs("w2", "c", 0)),
    JOINED,
    retry=(start("e1", JOINED), *_pairs("e1", "e", 1)),
)

_STEM: Final = "order-" + "7" * 194
#: Keys of 201 characters that differ in the last; one of them is in progress while the other is asked for.
_LONG_KEYS = quiet(
    "long-keys",
    (
        start("w1"),
        start("w2"),
        ask("w1", "q1", f"{_STEM}a"),
        ask("w2", "q2", f"{_STEM}b"),
        ask("w2", "q3", f"{_STEM}a"),
        ask("w2", "q6", f"{_STEM}e", n=2),
        script("hold"),
        ask("w1", "q4", f"{_STEM}c"),
        ask("w2", "q5", f"{_STEM}d"),
        release("w1"),
    ),
)


def _turned(proc: str, request_id: str, key: str) -> Op:
    """What :func:`ask` asks for, with the members of the input the other way round."""
    request = {
        "version": "v1alpha2",
        "request_id": request_id,
        "operation": "thing.write",
        "connection": "conn-a",
        "revision": "r1",
        "input": {"n": 1, "marker": "m1"},
        "idempotency_key": key,
    }
    return call(proc, "host.invoke", context=dict(ALICE), request=request)


_MEMBER_ORDER = quiet("member-order", (start("w1"), ask("w1", "q1", "k1"), _turned("w1", "q2", "k1")))

_BRIEF: Final = host(
    operation("thing.pay", approval="required"),
    approvals=[record("ap1", given("m1"), expires_at=EPOCH_MS + 10_000)],
)
#: The approval expires between its committed spend and what follows, ahead of the service deadline.
_EXPIRES_UNDER_WAY = Scenario(
    "approvals/expires-under-way",
    FAMILY,
    _BRIEF,
    (
        start("w2"),
        start("w1"),
        pause_after("w1", "approval", None, "Spent"),
        pay("w1", "q1", "k1"),
        time(12_000),
        Op("resume", {"proc": "w1"}),
        pay("w2", "q2", "k2"),
    ),
    retry=(start("e1"), pay("e1", "q7", "k1")),
    remote_faults=False,
    strikes=frozenset(),
)

FIELD_SCENARIOS: Final = (_JOINED_NAMES, _LONG_KEYS, _MEMBER_ORDER, _EXPIRES_UNDER_WAY)
