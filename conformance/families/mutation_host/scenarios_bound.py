"""What an approval or an event claim is bound to, each kind in each respect and both ways round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.families.mutation_host.config import ALICE, Raw, ask, edited, given, host, operation, record
from conformance.families.mutation_host.scenarios import FAMILY
from conformance.search.process import EPOCH_MS
from conformance.search.program import Op, start
from conformance.search.scenario import Scenario

_SHAPE: Final = {"members": {"n": "integer", "note": "text"}, "required": ["n"]}
_GATE: Final = {"kind": "federated", "authority": "gate-1"}
#: The document's list, the operation that is called, and another one that asks for the same and is configured too.
_KINDS: Final = (("approvals", "thing.pay", "thing.sell"), ("event_claims", "thing.claim", "thing.take"))
_OPERATIONS: Final = tuple(
    operation(name, approval=needed, input=_SHAPE)
    for (_, *names), needed in zip(_KINDS, ("required", "event_claim"), strict=True)
    for name in names
)
_M1: Final = given("m1")
_NOTED: Final = given("m1", note="urgent")
#: Everybody else who may make the call for which alice has an approval.
_OTHERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "caller": {**ALICE, "caller": "bob"},
    "executor": {**ALICE, "executor": "bot-1"},
    "origin": {**ALICE, "origin": _GATE},
}


def _records(name: str, other: str) -> Iterator[Raw]:
    """One for each respect in which it does not fit alice's plain call, then those that fit it."""
    changes: dict[str, Raw] = {
        "caller": {"caller": "bob"},
        "executor": {"executor": "bot-1"},
        "origin": {"origin": _GATE},
        "operation": {"operation": other},
        "connection": {"connection": "conn-b"},
        "operation-revision": {"operation_revision": "r0"},
        "connection-revision": {"connection_revision": "0"},
        "issuer": {"issuer": "somebody"},
        "expiry": {"expires_at": EPOCH_MS},
        "evidence": {"evidence": "signed by another hand"},
    }
    for axis, change in changes.items():
        yield record(f"{name}-{axis}", _M1, name, **change)
    yield record(f"{name}-value", given("m2"), name)
    yield record(f"{name}-more", _NOTED, name)
    yield record(f"{name}-fit", _M1, name)


def _calls(name: str, other: str) -> Iterator[Op]:
    def call(case: str, reference: str, value: Raw = _M1, called: str = name, **members: Any) -> Op:
        return ask("w1", f"{name}-{case}", called, value, f"k-{name}-{case}", approval=f"{name}-{reference}", **members)

    for misfit in _records(name, other):
        axis = misfit["reference"].removeprefix(f"{name}-")
        if axis != "fit":
            yield call(f"for-{axis}", axis)
    yield from (call(f"by-{axis}", "fit", context=who) for axis, who in _OTHERS.items())
    yield call("by-operation", "fit", called=other)
    yield call("with-more", "fit", _NOTED)


def _fitting(prefix: str) -> tuple[Op, ...]:
    return tuple(
        ask("w1", f"{prefix}-{name}", name, _M1, f"k-{prefix}-{name}", approval=f"{name}-fit") for _, name, _ in _KINDS
    )


_MAY: Final = [o["id"] for o in _OPERATIONS]
BOUND: Final = host(
    *_OPERATIONS,
    callers=[
        {**ALICE, "may": _MAY},
        *({**_OTHERS[axis], "may": _MAY} for axis in ("caller", "executor")),
        {**ALICE, "may": _MAY, "origin": "gate-1"},
    ],
    origins=[{"authority": "gate-1", "route": "things", "route_revision": "1"}],
    **{members: list(_records(name, other)) for members, name, other in _KINDS},
)
_NO_LIST: Final = {member: value for member, value in BOUND.items() if member != "issuers"}

BOUND_SCENARIOS: Final = (
    # At last nobody is trusted, in each way to say so; what was refused all along is good once somebody is again.
    Scenario(
        "approvals/bound",
        FAMILY,
        BOUND,
        (
            start("w1"),
            *(op for _, name, other in _KINDS for op in _calls(name, other)),
            start("o1", edited(BOUND, issuers=["another"])),
            *_fitting("other-issuer"),
            start("o2", edited(BOUND, issuers=[])),
            *_fitting("no-issuer"),
            start("o3", _NO_LIST),
            *_fitting("no-list"),
            start("o4", BOUND),
            *_fitting("good"),
        ),
        remote_faults=False,
        strikes=frozenset(),
    ),
)
