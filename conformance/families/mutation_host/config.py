"""Configurations of hosts with approvals, credentials and several callers, and the requests that meet them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from conformance.search.program import Op, call

Raw = dict[str, Any]
#: Just ahead of an edge, and further from it than the ticks of a clock go.
NEARLY_MS: Final = 2_000
HOUR_MS: Final = 3_600_000
#: Wall time (2100) past any schedule, also for drivers whose clock is the real one.
FAR_MS: Final = 4_102_444_800_000
ALICE: Final[Mapping[str, Any]] = {"caller": "alice", "tenant": None, "realm": None, "executor": None}
#: Nobody has heard of him.
MALLORY: Final[Mapping[str, Any]] = {**ALICE, "caller": "mallory"}
_DIRECT: Final = {"kind": "direct", "authority": "host-a"}


def operation(name: str, kind: str = "keyed", approval: str = "not_required", **members: Any) -> Raw:
    """An operation on conn-a, where ``members`` do not say otherwise."""
    found = {"id": name, "connection": "conn-a", "revision": "r1", "enabled": True, "idempotency": kind}
    return {**found, "approval": approval, **members}


def connection(name: str, state: str = "ready", revision: str = "1") -> Raw:
    """A connection with a credential in this state."""
    return {"id": name, "revision": revision, "credential": {"state": state, "generation": 1}}


def host(*operations: Raw, **members: Any) -> Raw:
    """One host on which alice may do everything that is configured, and all that ``members`` add or replace."""
    return {
        "family": "mutation-host",
        "instance": "host-a",
        "config_revision": "c1",
        "operations": list(operations),
        "callers": [{**ALICE, "may": [o["id"] for o in operations]}],
        "connections": [connection("conn-a"), connection("conn-b")],
        "issuers": ["board"],
        **members,
    }


def record(reference: str, given: Mapping[str, Any], name: str = "thing.pay", **changes: Any) -> Raw:
    """An approval for alice's call of an operation with this input; ``changes`` of its members or of its subject."""
    canonical = json.dumps(given, sort_keys=True, separators=(",", ":"))
    subject = {
        **ALICE,
        "origin": _DIRECT,
        "operation": name,
        "operation_revision": "r1",
        "connection": "conn-a",
        "connection_revision": "1",
        "input_digest": hashlib.sha256(canonical.encode()).hexdigest(),
    }
    made: Raw = {"reference": reference, "evidence": f"signed-{reference}", "issuer": "board"}
    made |= {"expires_at": FAR_MS, "spent": False}
    inner = {k: v for k, v in changes.items() if k in subject}
    return {**made, **{k: v for k, v in changes.items() if k not in subject}, "subject": {**subject, **inner}}


def given(marker: str, **members: Any) -> Raw:
    """An input."""
    return {"marker": marker, "n": 1, **members}


def ask(proc: str, request_id: str, name: str, value: Mapping[str, Any], key: str | None = None, **members: Any) -> Op:
    """One invocation by alice, or by the ``context`` among ``members``; ``approval`` is the reference presented."""
    context = members.pop("context", ALICE)
    request: Raw = {
        "version": "v1alpha2",
        "request_id": request_id,
        "operation": name,
        "connection": "conn-a",
        "revision": "r1",
        "input": dict(value),
    }
    if key is not None:
        request["idempotency_key"] = key
    reference = members.pop("approval", None)
    if reference is not None:
        request["approval"] = {"reference": reference, "evidence": f"signed-{reference}"}
    return call(proc, "host.invoke", context=dict(context), request={**request, **members})


def edited(config: Mapping[str, Any], **members: Any) -> Raw:
    """Another document: ``members`` replaced."""
    return {**deepcopy(dict(config)), **members}
