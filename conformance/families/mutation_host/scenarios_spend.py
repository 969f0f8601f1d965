"""Scenarios about what has to succeed ahead of the gate: admission, preflight, and the spend of an approval."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from conformance.families.mutation_host.scenarios import (
    ALICE,
    CONFIG,
    DEADLINE_MS,
    FAMILY,
    invoke,
)
from conformance.search.process import EPOCH_MS
from conformance.search.program import SETTLE, SNAPSHOT, Op, call, crash_after, recover, start, time
from conformance.search.scenario import Scenario

_NEVER: Final[frozenset[str]] = frozenset()
_YEAR_MS: Final = 366 * 86_400_000
_INPUT: Final = {"marker": "m1", "n": 1}
#: What the approval is bound to: who asks, through which origin, for which operation, connection and input.
_SUBJECT: Final = {
    **ALICE,
    "origin": {"kind": "direct", "authority": "host-a"},
    "operation": "thing.write",
    "operation_revision": "r1",
    "connection": "conn-a",
    "connection_revision": "1",
    "input_digest": hashlib.sha256(json.dumps(_INPUT, sort_keys=True, separators=(",", ":")).encode()).hexdigest(),
}
_APPROVAL: Final = {
    "reference": "approval-1",
    "evidence": "seen-by-desk",
    "issuer": "desk",
    "subject": _SUBJECT,
    "expires_at": EPOCH_MS + _YEAR_MS,
    "spent": False,
}
_OPERATIONS: Final[Any] = CONFIG["operations"]
SPENDING: Final = {
    **CONFIG,
    "issuers": ["desk"],
    "approvals": [_APPROVAL],
    "operations": [{**_OPERATIONS[0], "approval": "required"}, *_OPERATIONS[1:]],
}
UNREADY: Final = {
    **CONFIG,
    "connections": [{"id": "conn-a", "revision": "1", "credential": {"state": "expired", "generation": 1}}],
}


def _approved(proc: str, request_id: str) -> Op:
    """The keyed call of which the approval speaks."""
    request = {
        "version": "v1alpha2",
        "request_id": request_id,
        "operation": "thing.write",
        "connection": "conn-a",
        "revision": "r1",
        "input": _INPUT,
        "idempotency_key": "k1",
        "approval": {"reference": "approval-1", "evidence": "seen-by-desk"},
    }
    return call(proc, "host.invoke", context=ALICE, request=request)


def _stale(proc: str, request_id: str) -> Op:
    """A keyed call of somebody who has seen an older description."""
    op = invoke(proc, request_id, "m2", "k2")
    return Op(
        op.op, {**op.args, "args": {**op.args["args"], "request": {**op.args["args"]["request"], "revision": "r0"}}}
    )


_RETRY: Final = (start("e1"), recover("e1"), SETTLE, _approved("e1", "q8"))

SPEND_SCENARIOS: Final = (
    Scenario(
        "mutation/spend",
        FAMILY,
        SPENDING,
        (start("w1"), _approved("w1", "q1")),
        retry=_RETRY,
        seconds={"look": (SNAPSHOT,)},
        remote_faults=False,
        strikes=frozenset({"fail", "lose-ack"}),
    ),
    # A crash between spend and gate, whose abort fails at first: a caller asks before the abort is durable, and after.
    Scenario(
        "mutation/spent-abort-put-off",
        FAMILY,
        SPENDING,
        (
            start("w1"),
            crash_after("w1", "approval", None, "Spent"),
            _approved("w1", "q1"),
            start("r1"),
            Op(
                "arm-effect",
                {
                    "proc": "r1",
                    "effect": ["mutation_attempt", "Prepared", "Aborted"],
                    "call": "commit",
                    "action": "fail",
                },
            ),
            recover("r1"),
            start("w2"),
            _approved("w2", "q2"),
            time(DEADLINE_MS + 1_000),
            recover("r1"),
            _approved("w2", "q3"),
        ),
        retry=_RETRY,
        remote_faults=False,
        strikes=_NEVER,
    ),
    Scenario(
        "mutation/refused-ahead",
        FAMILY,
        UNREADY,
        (start("w1"), invoke("w1", "q1", "m1", "k1"), _stale("w1", "q2"), invoke("w1", "q3", "m3")),
        remote_faults=False,
        strikes=_NEVER,
    ),
)
