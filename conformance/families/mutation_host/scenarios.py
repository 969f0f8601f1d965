"""The scenarios of the mutation host. Each is a short script; faults and second actors are added by the sweep."""

from __future__ import annotations

from typing import Any, Final

from conformance.search.program import (
    SETTLE,
    SNAPSHOT,
    Op,
    call,
    crash_after,
    kill,
    pause_after,
    recover,
    release,
    script,
    start,
    time,
)
from conformance.search.scenario import Scenario

FAMILY: Final = "mutation-host"
RETENTION_MS: Final = 86_400_000
DEADLINE_MS: Final = 20_000

ALICE: Final = {"caller": "alice", "tenant": None, "realm": None, "executor": None}


def _operation(name: str, kind: str) -> dict[str, Any]:
    return {
        "id": name,
        "connection": "conn-a",
        "revision": "r1",
        "enabled": True,
        "idempotency": kind,
        "approval": "not_required",
    }


CONFIG: Final = {
    "family": FAMILY,
    "instance": "host-a",
    "config_revision": "c1",
    "operations": [_operation("thing.write", "keyed"), _operation("thing.touch", "none")],
    "callers": [{**ALICE, "may": ["thing.write", "thing.touch"]}],
}


def invoke(proc: str, request_id: str, marker: str, key: str | None = None) -> Op:
    """One invocation by alice: of the keyed operation with a key, of the unkeyed one without."""
    request: dict[str, Any] = {
        "version": "v1alpha2",
        "request_id": request_id,
        "operation": "thing.write" if key else "thing.touch",
        "connection": "conn-a",
        "revision": "r1",
        "input": {"marker": marker, "n": 1},
    }
    if key:
        request["idempotency_key"] = key
    return call(proc, "host.invoke", context=ALICE, request=request)


def cancel(proc: str, request_id: str) -> Op:
    """Alice cancels her own request."""
    return call(proc, "host.cancel", context=ALICE, request_id=request_id)


def housekeep(proc: str) -> Op:
    """Expiry by a housekeeper."""
    return call(proc, "host.housekeep")


_DUPLICATE = (start("w2"), invoke("w2", "q2", "m1", "k1"))
#: The client starts anew and says word for word what it said before.
_REPEAT = (start("w2"), invoke("w2", "q1", "m1", "k1"))
_CANCEL = (start("c1"), cancel("c1", "q1"))
_RECOVER = (start("r1"), recover("r1"))
_DEADLINE = (time(DEADLINE_MS + 1_000),)
#: A caller asks again under another request id, and once more word for word.
RETRY_KEYED = (
    start("e1"),
    recover("e1"),
    SETTLE,
    invoke("e1", "q8", "m1", "k1"),
    invoke("e1", "q1", "m1", "k1"),
)
_RETRY_UNKEYED = (start("e1"), recover("e1"), SETTLE, invoke("e1", "q8", "m8"))

TAIL: Final = (
    time(RETENTION_MS + 60_000),
    recover("e1"),
    housekeep("e1"),
    SETTLE,
    invoke("e1", "q9", "m1", "k1"),
    SNAPSHOT,
)

#: All that may strike, a store that stays down included.
EVERY_STRIKE: Final = frozenset({"fail", "lose-ack", "crash", "outage"})

SCENARIOS: Final = (
    Scenario(
        "mutation/invoke-keyed",
        FAMILY,
        CONFIG,
        (start("w1"), invoke("w1", "q1", "m1", "k1")),
        retry=RETRY_KEYED,
        seconds={
            "duplicate": _DUPLICATE,
            "cancel": _CANCEL,
            "recover": _RECOVER,
            "deadline": _DEADLINE,
            "recover-duplicate": (*_RECOVER, *_DUPLICATE),
            "duplicate-deadline": (*_DUPLICATE, *_DEADLINE),
        },
        twice=("duplicate", "cancel", "recover"),
        strikes=EVERY_STRIKE,
    ),
    Scenario(
        "mutation/invoke-unkeyed",
        FAMILY,
        CONFIG,
        (start("w1"), invoke("w1", "q1", "m1")),
        retry=_RETRY_UNKEYED,
        seconds={"cancel": _CANCEL, "recover": _RECOVER, "deadline": _DEADLINE},
        twice=("cancel", "recover"),
        strikes=EVERY_STRIKE,
    ),
    Scenario(
        "mutation/replay",
        FAMILY,
        CONFIG,
        (start("w1"), invoke("w1", "q1", "m1", "k1"), start("w2"), invoke("w2", "q2", "m1", "k1")),
        retry=RETRY_KEYED,
        seconds={"deadline": _DEADLINE},
        remote_faults=False,
    ),
    # What a process owes after a lost response or a failed write, it may be tempted to send with its next command.
    Scenario(
        "mutation/next-call",
        FAMILY,
        CONFIG,
        (
            script("apply-then-drop"),
            start("w1"),
            invoke("w1", "q1", "m1", "k1"),
            invoke("w1", "q2", "m2"),
        ),
        retry=RETRY_KEYED,
        remote_faults=False,
    ),
    Scenario(
        "mutation/recover-prepared",
        FAMILY,
        CONFIG,
        (
            start("w1"),
            crash_after("w1", "mutation_attempt", None, "Prepared"),
            invoke("w1", "q1", "m1", "k1"),
            start("r1"),
            recover("r1"),
        ),
        retry=RETRY_KEYED,
        seconds={"duplicate": _DUPLICATE, "cancel": _CANCEL},
        remote_faults=False,
    ),
    Scenario(
        "mutation/recover-dispatching",
        FAMILY,
        CONFIG,
        (script("hold"), start("w1"), invoke("w1", "q1", "m1", "k1"), kill("w1"), start("r1"), recover("r1")),
        retry=RETRY_KEYED,
        seconds={"duplicate": _DUPLICATE, "repeat": _REPEAT},
        remote_faults=False,
    ),
    Scenario(
        "mutation/cancel-prepared",
        FAMILY,
        CONFIG,
        (
            start("w1"),
            pause_after("w1", "mutation_attempt", None, "Prepared"),
            invoke("w1", "q1", "m1", "k1"),
            start("c1"),
            cancel("c1", "q1"),
            Op("resume", {"proc": "w1"}),
        ),
        retry=RETRY_KEYED,
        seconds={"worker": (Op("resume", {"proc": "w1"}),)},
        remote_faults=False,
    ),
    Scenario(
        "mutation/recover-beside-held-worker",
        FAMILY,
        CONFIG,
        (script("hold"), start("w1"), invoke("w1", "q1", "m1", "k1"), start("r1"), recover("r1"), release("w1")),
        retry=RETRY_KEYED,
        seconds={"answer": (release("w1"),), "refusal": (release("w1", "definite-refusal"),)},
        remote_faults=False,
    ),
    Scenario(
        "mutation/recover-beside-prepared-worker",
        FAMILY,
        CONFIG,
        (
            start("w1"),
            pause_after("w1", "mutation_attempt", None, "Prepared"),
            invoke("w1", "q1", "m1", "k1"),
            start("r1"),
            recover("r1"),
            Op("resume", {"proc": "w1"}),
        ),
        retry=RETRY_KEYED,
        seconds={"worker": (Op("resume", {"proc": "w1"}),)},
        remote_faults=False,
    ),
    Scenario(
        "mutation/retire-by-housekeeper",
        FAMILY,
        CONFIG,
        (
            start("w1"),
            invoke("w1", "q1", "m1", "k1"),
            time(RETENTION_MS + 60_000),
            start("g1"),
            housekeep("g1"),
        ),
        retry=RETRY_KEYED,
        seconds={
            "replacement": (invoke("w1", "q2", "m1", "k1"),),
            "retired-replacement": (start("g2"), housekeep("g2"), invoke("w1", "q2", "m1", "k1")),
        },
        twice=("replacement",),
        remote_faults=False,
    ),
    Scenario(
        "mutation/retire-by-candidate",
        FAMILY,
        CONFIG,
        (
            start("w1"),
            invoke("w1", "q1", "m1", "k1"),
            time(RETENTION_MS + 60_000),
            start("w2"),
            invoke("w2", "q2", "m1", "k1"),
        ),
        retry=RETRY_KEYED,
        seconds={
            "replacement": (invoke("w1", "q3", "m1", "k1"),),
            "housekeep": (start("g1"), housekeep("g1")),
            "retired-replacement": (start("g1"), housekeep("g1"), invoke("w1", "q3", "m1", "k1")),
        },
        twice=("replacement", "housekeep"),
        remote_faults=False,
    ),
)
