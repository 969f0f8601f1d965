"""Scenarios of admission: what strangers hear, which refusal comes first, conflicts, and credentials."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from conformance.families.mutation_host.config import (
    ALICE,
    MALLORY,
    Raw,
    ask,
    connection,
    edited,
    given,
    host,
    operation,
    record,
)
from conformance.families.mutation_host.scenarios import FAMILY, invoke
from conformance.search.program import Op, release, script, start
from conformance.search.scenario import Scenario

_NO_STRIKES: Final[frozenset[str]] = frozenset()
_M1: Final = given("m1")
_SHAPE: Final = {"members": {"n": "integer", "resource": "text"}, "required": ["n"]}
_SHAPED: Final = operation("thing.pay", approval="required", input=_SHAPE, scope="resource")


def _scenario(name: str, config: Raw, *ops: Op) -> Scenario:
    return Scenario(name, FAMILY, config, ops, remote_faults=False, strikes=_NO_STRIKES)


def _served(proc: str) -> Op:
    """A call that is admitted: without one a host that refuses everything would look the same."""
    return ask(proc, "q-served", "thing.write", given("m9"), "k9")


# -- strangers, and every refusal by itself -------------------------------------------------------------------------

_OPEN: Final = host(
    operation("thing.write"),
    operation("thing.touch", kind="none"),
    operation("thing.loose", connection="conn-z"),
    operation("thing.off", enabled=False),
    operation("thing.deep", input=_SHAPE, scope="resource"),
    operation("thing.hidden"),
)
_OPEN["callers"] = [
    {
        **ALICE,
        "may": ["thing.write", "thing.touch", "thing.loose", "thing.off", "thing.deep", "thing.gone"],
        "sees": ["thing.write", "thing.touch", "thing.loose", "thing.off", "thing.deep", "thing.gone"],
        "resources": ["r-1"],
    },
    {**ALICE, "caller": "carol", "may": ["thing.write"], "connections": ["conn-b"]},
]
_CAROL: Final = {**ALICE, "caller": "carol"}
_ELSEWHERE: Final = {**ALICE, "origin": {"kind": "federated", "authority": "gw-9"}}


_STRANGERS: Final = (
    start("w1"),
    ask("w1", "s1", "thing.write", _M1, "k1", context=MALLORY),
    ask("w1", "s2", "thing.write", _M1, "k1", context=MALLORY, revision="r0"),
    ask("w1", "s3", "thing.nowhere", _M1, "k1", context=MALLORY),
    ask("w1", "s4", "thing.loose", _M1, "k1", context=MALLORY, connection="conn-z"),
    # Alice is known, and may not use these either.
    ask("w1", "s5", "thing.hidden", _M1, "k1"),
    ask("w1", "s6", "thing.hidden", _M1, "k1", revision="r0"),
    ask("w1", "s7", "thing.nowhere", _M1, "k1"),
    # Carol does not reach the connection, and nobody knows where the last one comes from.
    *(ask("w1", f"c{n}", "thing.write", _M1, "k1", context=_CAROL, revision=f"r{n}") for n in (0, 1)),
    *(ask("w1", f"o{n}", "thing.write", _M1, "k1", context=_ELSEWHERE, revision=f"r{n}") for n in (0, 1)),
)
_DEEP: Final = given("m1", resource="r-1")
_REFUSED: Final = (
    start("w1"),
    ask("w1", "q1", "thing.hidden", _M1, "k1"),
    ask("w1", "q2", "thing.write", _M1, "k1", revision="r0"),
    ask("w1", "q3", "thing.gone", _M1, "k1"),
    ask("w1", "q4", "thing.loose", _M1, "k1", connection="conn-z"),
    ask("w1", "q5", "thing.off", _M1, "k1"),
    ask("w1", "q6", "thing.deep", {"marker": "m1", "n": "one"}, "k1"),
    ask("w1", "q7", "thing.deep", given("m1", resource="r-2"), "k1"),
    ask("w1", "q8", "thing.write", _M1),
    ask("w1", "q9", "thing.touch", _M1, "k1"),
    # And one that passes: then its key is held, and what does not fit is refused all the same.
    ask("w1", "q10", "thing.deep", _DEEP, "k1"),
    ask("w1", "q11", "thing.deep", {"marker": "m1", "n": "one"}, "k1"),
    ask("w1", "q12", "thing.deep", _DEEP, "k1", colour="red"),
)

# -- conflicts ------------------------------------------------------------------------------------------------------

_KEYED: Final = host(operation("thing.write"), operation("thing.send"))
_REBOUND: Final = edited(_KEYED, operations=[operation("thing.write", connection="conn-b"), operation("thing.send")])
_REVISED: Final = edited(_KEYED, operations=[operation("thing.write", revision="r2"), operation("thing.send")])
_RELOADED: Final = edited(_KEYED, config_revision="c2")
_REROUTED: Final = edited(_KEYED, connections=[connection("conn-a", revision="2"), connection("conn-b")])
_CONFLICTS: Final = (
    start("w1"),
    invoke("w1", "q1", "m1", "k1"),
    invoke("w1", "q2", "m2", "k1"),
    ask("w1", "q3", "thing.send", _M1, "k1"),
    start("o1", _REBOUND),
    ask("w1", "q4", "thing.write", _M1, "k1", connection="conn-b"),
    start("o2", _REVISED),
    ask("w1", "q5", "thing.write", _M1, "k1", revision="r2"),
    start("o3", _RELOADED),
    invoke("w1", "q6", "m1", "k1"),
    start("o4", _REROUTED),
    invoke("w1", "q7", "m1", "k1"),
    start("o5", _KEYED),
    invoke("w1", "q8", "m1", "k1"),
)
_UNSETTLED: Final = (
    script("apply-then-drop", "hold"),
    start("w1"),
    invoke("w1", "q1", "m1", "k1"),
    invoke("w1", "q2", "m2", "k1"),
    start("w2"),
    invoke("w2", "q3", "m3", "k3"),
    invoke("w1", "q4", "m4", "k3"),
    release("w2"),
)

# -- credentials ----------------------------------------------------------------------------------------------------

_STATES: Final = ("missing", "expired", "refused")
_CREDENTIALS: Final = host(
    *(operation(f"thing.{state}", connection=f"conn-{state}") for state in _STATES),
    *(operation(f"once.{state}", kind="none", connection=f"conn-{state}") for state in _STATES),
    operation("thing.pay", approval="required", connection="conn-expired"),
    connections=[connection(f"conn-{state}", state) for state in _STATES],
    approvals=[record("bad", _M1, connection="conn-expired", caller="bob")],
)
_UNREADY: Final = (
    start("w1"),
    *(ask("w1", f"q-{s}", f"thing.{s}", _M1, f"k-{s}", connection=f"conn-{s}") for s in _STATES),
    *(ask("w1", f"o-{s}", f"once.{s}", _M1, connection=f"conn-{s}") for s in _STATES),
    ask("w1", "q8", "thing.pay", _M1, "k8", connection="conn-expired"),
    ask("w1", "q9", "thing.pay", _M1, "k9", connection="conn-expired", approval="bad"),
)

# -- the order of the checks, each against its neighbour ------------------------------------------------------------

#: A call that would pass: what a row of the order changes in the configuration and in the request, so that it refuses.
Change = tuple[Callable[[Raw], None], Raw]


def _nothing(_: Raw) -> None:
    return


def _config(path: str, value: Any) -> Callable[[Raw], None]:
    def change(config: Raw) -> None:
        place: Any = config
        *steps, last = path.split(".")
        for step in steps:
            place = place[int(step)] if step.isdigit() else place[step]
        place[last] = value

    return change


#: Row of spec/tables/precedence.yaml -> what makes it refuse, in the order of the table.
ROWS: Final[dict[str, Change]] = {
    "version": (_nothing, {"version": "v0"}),
    "envelope": (_nothing, {"colour": "red"}),
    "access": (_config("callers.0.may", []), {}),
    "freshness": (_nothing, {"revision": "r0"}),
    "bound_lookup": (_config("connections", []), {}),
    "enablement": (_config("operations.0.enabled", False), {}),
    "input_shape": (_nothing, {"input": {"marker": "m1", "resource": "r-1"}}),
    "input_scope": (_config("callers.0.resources", ["r-9"]), {}),
    "key_presence": (_nothing, {"idempotency_key": ""}),
    "approval_presented": (_nothing, {"approval": None}),
    "approval_verifies": (_config("approvals.0.expires_at", 1), {}),
    "approval_unspent": (_config("approvals.0.spent", True), {}),
    "preflight": (_config("connections.0.credential.state", "refused"), {}),
    "capacity": (_config("capacity", {"reservations": 0}), {}),
}
#: Neighbours that cannot refuse the same call: what is not presented neither verifies nor fails to.
_APART: Final = {("approval_presented", "approval_verifies")}
#: Rows further apart whose order has a sentence of its own in the source.
_FURTHER: Final = (
    ("access", "bound_lookup"),
    ("access", "input_shape"),
    ("freshness", "enablement"),
    ("enablement", "input_shape"),
    ("approval_presented", "preflight"),
    ("approval_verifies", "preflight"),
)


#: Somebody whom no row refuses.
_DAVE: Final = {**ALICE, "caller": "dave"}


def _together(*rows: str) -> Scenario:
    """A call that every one of these rows would refuse."""
    value = given("m1", resource="r-1")
    config = host(dict(_SHAPED), approvals=[record("ap1", value)])
    config["callers"][0]["resources"] = ["r-1"]
    members: Raw = {"approval": {"reference": "ap1", "evidence": "signed-ap1"}}
    for row in rows:
        change, changed = ROWS[row]
        change(config)
        members |= changed
    if members["approval"] is None:
        del members["approval"]
    op = ask("w1", "q1", "thing.pay", members.pop("input", value), members.pop("idempotency_key", "k1"))
    request = {**op.args["args"]["request"], **members}
    args = {**op.args["args"], "request": request}
    config["operations"] = [*config["operations"], operation("thing.open")]
    config["callers"] = [*config["callers"], {**_DAVE, "may": ["thing.open"]}]
    served = ask("w1", "q-served", "thing.open", given("m9"), "k9", context=_DAVE)
    refused = Op("call", {**op.args, "args": args})
    return _scenario(f"precedence/{'-before-'.join(rows)}", config, start("w1"), refused, served)


PAIRS: Final = tuple(_together(*pair) for pair in dict.fromkeys((*pairwise(ROWS), *_FURTHER)) if pair not in _APART)

ADMISSION: Final = (
    _scenario("admission/strangers", _OPEN, *_STRANGERS, _served("w1")),
    _scenario("admission/refusals", _OPEN, *_REFUSED, _served("w1")),
    _scenario("admission/conflicts", _KEYED, *_CONFLICTS),
    _scenario("admission/conflicts-unsettled", _KEYED, *_UNSETTLED),
    _scenario("admission/credentials", _CREDENTIALS, *_UNREADY),
    *PAIRS,
)
