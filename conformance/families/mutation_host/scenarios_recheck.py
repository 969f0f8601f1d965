"""Scenarios about keys and what else a new attempt needs: approvals, claims, credentials, room in the store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from conformance.families.mutation_host.scenarios import ALICE, CONFIG, FAMILY
from conformance.families.mutation_host.scenarios_keys import ask, quiet
from conformance.search.program import SETTLE, Op, crash_after, kill, recover, release, script, start, time
from conformance.search.scenario import Scenario

#: Where the suite's wall clock begins (:class:`conformance.search.process.VirtualTime`).
_BEGIN_MS: Final = 1_767_225_600_000
_HOUR_MS: Final = 3_600_000


def record(reference: str, operation: str, *, hours: int = 1_000, marker: str = "m1", n: int = 1) -> dict[str, Any]:
    """An approval or event claim for alice's request, which lapses so many hours after the beginning."""
    text = json.dumps({"marker": marker, "n": n}, sort_keys=True, separators=(",", ":"))
    return {
        "reference": reference,
        "evidence": f"signed-{reference}",
        "issuer": "desk",
        "subject": {
            **ALICE,
            "origin": {"kind": "direct", "authority": CONFIG["instance"]},
            "operation": operation,
            "operation_revision": "r1",
            "connection": "conn-a",
            "connection_revision": "1",
            "input_digest": hashlib.sha256(text.encode()).hexdigest(),
        },
        "expires_at": _BEGIN_MS + hours * _HOUR_MS,
        "spent": False,
    }


def proof(reference: str, evidence: str | None = None) -> dict[str, str]:
    """What a request presents."""
    return {"reference": reference, "evidence": evidence or f"signed-{reference}"}


def _connection(name: str, state: str) -> dict[str, Any]:
    return {"id": name, "revision": "1", "credential": {"state": state, "generation": 1}}


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
    "connections": [_connection("conn-a", "ready"), _connection("conn-b", "missing")],
    "issuers": ["desk"],
    "approvals": [
        record("a1", "thing.order", hours=1),
        record("a2", "thing.order", n=2),
        record("a3", "thing.order", n=3),
    ],
    "event_claims": [
        record("c1", "thing.react", hours=1),
        record("c2", "thing.react"),
        record("c3", "thing.react", n=2),
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
        ask("w1", "q2", "k2", operation="thing.react", approval=proof("c1")),
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
        time(2 * _HOUR_MS),
        _order("w2", "expired", "k1", "a1"),
        ask("w2", "other-claim", "k2", operation="thing.react", approval=proof("c2")),
    ),
    GUARDED,
)

_NO_CLAIMS: Final = {**GUARDED, "event_claims": []}
_UNREADY: Final = {**GUARDED, "connections": [_connection("conn-a", "refused"), _connection("conn-b", "missing")]}
_NOBODY: Final = {**_NO_CLAIMS, "callers": [{**ALICE, "may": ["thing.touch"]}]}
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
        "winner-then-refused": _winner("c2", _NO_CLAIMS),
        "winner-then-unready": _winner("c2", _UNREADY),
        "rival-then-refused": _winner("c3", _NO_CLAIMS, n=2),
        "winner-then-revoked": _winner("c2", _NOBODY),
        "revoked": (start("c1", _NOBODY),),
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
        crash_after("w0", "mutation_attempt", None, "Prepared"),
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
    ),
    {**CONFIG, "capacity": {"reservations": 4}},
)

RECHECKS: Final = (_APPROVED, _RECHECK, _LATE_WINNER, _UNREADABLE_FREE, _UNREADABLE_HELD, _FULL)
