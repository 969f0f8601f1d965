"""Scenarios of approvals and event claims: what they are bound to, the spend, and what never uses one up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from conformance.families.mutation_host.config import (
    ALICE,
    HOUR_MS,
    Raw,
    ask,
    connection,
    edited,
    given,
    host,
    operation,
    record,
)
from conformance.families.mutation_host.scenarios import (
    DEADLINE_MS,
    FAMILY,
    RETENTION_MS,
    cancel,
    housekeep,
)
from conformance.search.process import EPOCH_MS
from conformance.search.program import SETTLE, Op, recover, start, time
from conformance.search.scenario import Scenario

_NO_STRIKES: Final[frozenset[str]] = frozenset()
_PAY: Final = operation("thing.pay", approval="required")
_ONCE: Final = operation("thing.once", kind="none", approval="required")
_CLAIM: Final = operation("thing.claim", approval="event_claim")
_WRITE: Final = operation("thing.write")
_M1: Final = given("m1")
_OPERATIONS: Final = (_PAY, _ONCE, _CLAIM, _WRITE)

SPENDING: Final = host(*_OPERATIONS, approvals=[record("ap1", _M1)], event_claims=[record("ev1", _M1, "thing.claim")])


def pay(proc: str, request_id: str, key: str, approval: str | None = "ap1", **members: Any) -> Op:
    """Alice pays, under an approval."""
    return ask(proc, request_id, "thing.pay", _M1, key, approval=approval, **members)


def claim(proc: str, request_id: str, key: str) -> Op:
    """Alice acts on an event."""
    return ask(proc, request_id, "thing.claim", _M1, key, approval="ev1")


def _axes() -> tuple[Raw, tuple[Op, ...]]:
    """One approval for each respect in which it may fail, and a call that presents it; then two that are good."""
    changes: dict[str, Raw] = {
        "caller": {"caller": "bob"},
        "executor": {"executor": "bot-1"},
        "origin": {"origin": {"kind": "federated", "authority": "gate-1"}},
        "operation": {"operation": "thing.sell"},
        "connection": {"connection": "conn-b"},
        "operation-revision": {"operation_revision": "r0"},
        "connection-revision": {"connection_revision": "0"},
        "issuer": {"issuer": "somebody"},
        "expiry": {"expires_at": EPOCH_MS},
        "evidence": {"evidence": "signed by another hand"},
    }
    records = [record(axis, _M1, **change) for axis, change in changes.items()]
    records += [record("input", given("m2")), record("order", _M1), record("old", _M1, spent=True)]
    calls = [pay("w1", f"q-{axis}", f"k-{axis}", axis) for axis in [*changes, "input"]]
    # The members of this input do not stand in their sorted order.
    turned = {"n": 1, "marker": "m1"}
    calls += [
        ask("w1", "q-order", "thing.pay", turned, "k-order", approval="order"),
        pay("w1", "q-old", "k-old", "old"),
    ]
    calls += [pay("w1", "q-none", "k-none", None), ask("w1", "q-once", "thing.once", _M1)]
    return host(*_OPERATIONS, approvals=records), (start("w1"), *calls)


_AXES, _AXIS_CALLS = _axes()
_AGEING = host(
    *_OPERATIONS,
    approvals=[record("ap1", _M1), *(record(name, _M1, expires_at=EPOCH_MS + HOUR_MS) for name in ("ap3", "ap4"))],
)
_LOCKED_OUT = edited(SPENDING, callers=[{**ALICE, "may": []}])
_UNREADY = edited(SPENDING, connections=[connection("conn-a", "expired")])
_RETRY = (start("e1"), recover("e1"), SETTLE, pay("e1", "q7", "k2"), pay("e1", "q8", "k1"))

_TOUCHING: Final = (operation("thing.write"), operation("thing.touch", kind="none"))
#: Proofs that would verify for operations that ask for none.
_NEEDLESS: Final = host(
    *_TOUCHING,
    approvals=[record(f"ap-{o['id']}", _M1, o["id"]) for o in _TOUCHING],
    event_claims=[record(f"ev-{o['id']}", _M1, o["id"]) for o in _TOUCHING],
)


def _needless() -> Iterator[Op]:
    for kind in ("ap", "ev"):
        yield ask("w1", f"{kind}-keyed", "thing.write", _M1, f"k-{kind}", approval=f"{kind}-thing.write")
        yield ask("w1", f"{kind}-unkeyed", "thing.touch", _M1, approval=f"{kind}-thing.touch")


APPROVALS: Final = (
    Scenario(
        "approvals/spend",
        FAMILY,
        SPENDING,
        (start("w1"), pay("w1", "q1", "k1")),
        retry=_RETRY,
        seconds={
            "duplicate": (start("w2"), pay("w2", "q2", "k1")),
            "rival": (start("w2"), pay("w2", "q2", "k3")),
            "cancel": (start("c1"), cancel("c1", "q1")),
            "deadline": (time(DEADLINE_MS + 1_000),),
        },
        remote_faults=False,
    ),
    # An event may be worked off but once, and what became of that is no more known where a claim was spent for it.
    Scenario(
        "approvals/claim",
        FAMILY,
        SPENDING,
        (start("w1"), claim("w1", "q1", "k1")),
        retry=(start("e1"), recover("e1"), SETTLE, claim("e1", "q7", "k2")),
        seconds={"rival": (start("w2"), claim("w2", "q2", "k3"))},
        remote_faults=False,
        strikes=frozenset({"outage"}),
    ),
    Scenario("approvals/axes", FAMILY, _AXES, _AXIS_CALLS, remote_faults=False, strikes=_NO_STRIKES),
    Scenario(
        "approvals/after-retention",
        FAMILY,
        _AGEING,
        (
            start("w1"),
            pay("w1", "q1", "k1"),
            pay("w1", "q2", "k3", "ap3"),
            time(RETENTION_MS + 60_000),
            housekeep("w1"),
            pay("w1", "q3", "k1"),
            pay("w1", "q4", "k3", "ap4"),
        ),
        remote_faults=False,
        strikes=_NO_STRIKES,
    ),
    # None of these calls gets as far as its spend, so that the last one still can.
    Scenario(
        "approvals/carried",
        FAMILY,
        SPENDING,
        (
            start("w1"),
            pay("w1", "q1", "k1", revision="r0"),
            ask("w1", "q2", "thing.write", _M1, "k2"),
            pay("w1", "q3", "k2"),
            pay("w1", "q4", "k4"),
        ),
        remote_faults=False,
        strikes=_NO_STRIKES,
    ),
    Scenario(
        "approvals/carried-through-changes",
        FAMILY,
        SPENDING,
        (
            start("w1"),
            start("o1", _LOCKED_OUT),
            pay("w1", "q1", "k1"),
            start("o2", _UNREADY),
            pay("w1", "q2", "k2"),
            start("o3", SPENDING),
            pay("w1", "q3", "k3"),
        ),
        remote_faults=False,
        strikes=_NO_STRIKES,
    ),
    Scenario(
        "approvals/needless",
        FAMILY,
        _NEEDLESS,
        (start("w1"), *_needless()),
        remote_faults=False,
        strikes=_NO_STRIKES,
    ),
)
