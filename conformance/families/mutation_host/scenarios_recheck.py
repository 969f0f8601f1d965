"""Scenarios about keys and what else a new attempt needs: approvals, claims, credentials, room in the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.families.mutation_host.config import HOUR_MS, connection, given, record
from conformance.families.mutation_host.scenarios import ALICE, CONFIG, FAMILY
from conformance.families.mutation_host.scenarios_keys import ask, quiet
from conformance.search.process import EPOCH_MS
from conformance.search.program import SETTLE, Op, kill, pause_after, recover, release, script, start, time
from conformance.search.scenario import Scenario


def proof(reference: str, evidence: str | None = None) -> dict[str, str]:
    """What a request presents."""
    return {"reference": reference, "evidence": evidence or f"signed-{reference}"}


_OPERATIONS: Final[list[Mapping[str, Any]]] = CONFIG["operations"]  # type: ignore
_WRITE: Final = _OPERATIONS[0]
#: Operations with an approval, with an event claim, and on a connection whose credential is not ready.
GUARDED: Final[Mapping[str, Any]] = {
    **CONFIG,
    "operations": [
        *_OPERATIONS,
        {**_WRITE, "id": "thing.order", "approval": "required"},
        {**_WRITE, "id": "thing.react", "approval": "event_claim"},
        {**_WRITE, "id": "thing.late", "connection": "conn-b"},
    ],
    "callers": [{**ALICE, "may": ["thing.write", "thing.touch", "thing.order", "thing.react", "thing.late"]}],
    "connections": [connection("conn-a"), connection("conn-b", "missing")],
    "issuers": ["board"],
    "approvals": [
        record("a1", given("m1"), "thing.order"),
        record("a2", given("m1", n=2), "thing.order"),
        record("a3", given("m1", n=3), "thing.order"),
        record("a4", given("m1", n=4), "thing.order", expires_at=EPOCH_MS + HOUR_MS),
    ],
    "event_claims": [
        record("c1", given("m1"), "thing.react"),
        record("c2", given("m1"), "thing.react"),
        record("c3", given("m1", n=2), "thing.react"),
        record("c4", given("m1"), "thing.react", expires_at=EPOCH_MS + HOUR_MS),
    ],
}


def _order(proc: str, request_id: str, key: str, reference: str | None = None, **other: Any) -> Op:
    return ask(proc, request_id, key, operation="thing.order", approval=reference and proof(reference), **other)  # type: ignore


def _react(proc: str, request_id: str, reference: str | None = None, **other: Any) -> Op:
    return ask(proc, request_id, "k1", operation="thing.react", approval=reference and proof(reference), **other)  # type: ignore


_APPROVED = quiet(
    "replay-with-approval",
    (
        start("w1"),
        _order("w1", "q1", "k1", "a1"),
        ask("w1", "q2", "k2", operation="thing.react", approval=proof("c4")),
        _order("w1", "q4", "k4", "a4", n=4),
        start("w2"),
        _order("w2", "none", "k1"),
        _order("w2", "same", "k1", "a1"),
        ask("w2", "invalid", "k1", operation="thing.order", approval=proof("a1", "forged")),
        _order("w2", "foreign", "k1", "a2"),
        _order("w2", "conflict-unapproved", "k1", n=2),
        ask("w2", "conflict-unready", "k1", operation="thing.late", connection="conn-b"),
        script("hold"),
        _order("w1", "q3", "k3", "a3", n=3),
        _order("w2", "conflict-pending", "k3", n=2),
        _order("w2", "wait-none", "k3", n=3),
        start("w3"),
        _order("w3", "wait-same", "k3", "a3", n=3),
        release("w1"),
        time(2 * HOUR_MS),
        _order("w2", "expired", "k4", "a4", n=4),
        ask("w2", "other-claim", "k2", operation="thing.react", approval=proof("c2")),
    ),
    GUARDED,
)

_NO_CLAIMS: Final = {**GUARDED, "event_claims": []}
_UNREADY: Final = {**GUARDED, "connections": [connection("conn-a", "refused"), connection("conn-b", "missing")]}
_LOCKED_OUT: Final = [{**ALICE, "may": ["thing.touch"]}]
_NOBODY: Final = {**_NO_CLAIMS, "callers": _LOCKED_OUT}
_AGAIN: Final = (start("e1", GUARDED), recover("e1"), SETTLE, _react("e1", "q98"))


def _winner(reference: str, then: Mapping[str, Any] | None = None, **other: Any) -> tuple[Op, ...]:
    """Another candidate with this claim, and what is configured once it has come through."""
    came = (start("w2"), _react("w2", "q2", reference, **other))
    return came if then is None else (*came, start("c1", then))


#: A candidate with a claim, stopped at every call, its clock included; what it would be refused for comes about
#: only once another candidate has come through, so that its refusal is certainly decided after that.
_RECHECK = Scenario(
    "mutation/recheck",
    FAMILY,
    GUARDED,
    (start("w1"), _react("w1", "q1", "c1")),
    retry=_AGAIN,
    seconds={
        "winner-spends": _winner("c1"),
        "winner-spends-and-is-held": (script("hold"), *_winner("c1")),
        "winner-then-refused": _winner("c2", _NO_CLAIMS),
        "winner-then-unready": _winner("c2", _UNREADY),
        "rival-then-refused": _winner("c3", _NO_CLAIMS, n=2),
        "winner-then-revoked": _winner("c2", _NOBODY),
        "revoked": (start("c1", _NOBODY),),
        "revoked-unready": (start("c1", {**_UNREADY, "callers": _LOCKED_OUT}),),
    },
    remote_faults=False,
    strikes=frozenset(),
    stalls=frozenset({"clock"}),
)

#: A candidate that lacks its claim from the beginning, and another that comes through in its course.
_LATE_WINNER = Scenario(
    "mutation/recheck-late-winner",
    FAMILY,
    GUARDED,
    (start("w1"), _react("w1", "q1")),
    retry=_AGAIN,
    seconds={"winner": _winner("c1")},
    remote_faults=False,
    strikes=frozenset(),
    stalls=frozenset({"clock"}),
)

#: A candidate that lacks its claim while the store is down; first nobody holds the key, then somebody does.
_UNREADABLE_FREE = Scenario(
    "mutation/recheck-unreadable",
    FAMILY,
    GUARDED,
    (start("w1"), _react("w1", "q1")),
    retry=_AGAIN,
    remote_faults=False,
    strikes=frozenset({"blackout"}),
)
_UNREADABLE_HELD = Scenario(
    "mutation/recheck-unreadable-held",
    FAMILY,
    GUARDED,
    (start("w2"), _react("w2", "q1", "c1"), start("w1"), _react("w1", "q2")),
    retry=_AGAIN,
    remote_faults=False,
    strikes=frozenset({"blackout"}),
)

#: Room for four: one key Pending ahead of its gate, one behind it, one Quarantined, one with a known result.
_FULL = quiet(
    "full-store",
    (
        start("w0"),
        pause_after("w0", "mutation_attempt", None, "Prepared"),
        ask("w0", "q0", "k0"),
        start("w1"),
        ask("w1", "q1", "k1"),
        script("apply-then-drop"),
        ask("w1", "q2", "k2"),
        script("hold"),
        ask("w1", "q3", "k3"),
        start("w2"),
        ask("w2", "q4", "k4"),
        ask("w2", "q5", "k1"),
        ask("w2", "q6", "k2"),
        ask("w2", "q7", "k3", n=2),
        kill("w1"),
        ask("w2", "q8", "k5"),
        Op("resume", {"proc": "w0"}),
    ),
    {**CONFIG, "capacity": {"reservations": 4}},
)

RECHECKS: Final = (_APPROVED, _RECHECK, _LATE_WINNER, _UNREADABLE_FREE, _UNREADABLE_HELD, _FULL)
