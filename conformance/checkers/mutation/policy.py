"""What a configuration means for one call, worked out by the suite: which check refuses it, and what it presents.

Only what the document and the request decide: keys, stores and time under way are not looked at here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

Raw = Mapping[str, Any]
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
_TEXTS: Final = ("request_id", "operation", "connection", "revision")
_MEMBERS: Final = frozenset({"version", *_TEXTS, "input", "idempotency_key", "approval"})
_WHO: Final = ("caller", "tenant", "realm", "executor")
_KINDS: Final = {"text": str, "integer": int, "boolean": bool, "object": dict, "list": list}
#: The largest bound of a request where its operation states none (limit request_bytes).
REQUEST_BYTES: Final = 65_536
#: Members of a subject by the cell that they stand for.
AXES: Final[Mapping[str, str]] = {
    **{member: member for member in ("caller", "tenant", "realm", "executor", "origin", "operation", "connection")},
    "operation_revision": "operation-revision",
    "connection_revision": "connection-revision",
    "input_digest": "input",
}


@dataclass(frozen=True, slots=True)
class Presented:
    """The record that a request presents, and every respect in which it does not verify (``spent`` not counted)."""

    record: Raw
    fails: frozenset[str]

    @property
    def name(self) -> tuple[str, str]:
        """Issuer and reference: what is spent once."""
        return (str(self.record["issuer"]), str(self.record["reference"]))


@dataclass(frozen=True)
class Policy:
    """One configuration document applied to one call."""

    config: Raw
    context: Raw
    request: Raw

    @cached_property
    def operation(self) -> Raw | None:
        """The operation that the call names, if it is configured."""
        return next((o for o in self.config["operations"] if o["id"] == self.request.get("operation")), None)

    @cached_property
    def refusals(self) -> tuple[str, ...]:
        """Every row of spec/tables/precedence.yaml up to ``key_presence`` that refuses this call, in their order.

        A row that cannot be asked (there is no operation to be fresh, disabled or shaped) does not refuse.
        """
        return tuple(self._refusals())

    @property
    def first(self) -> str | None:
        """The row that decides; None for a call that is admitted."""
        return self.refusals[0] if self.refusals else None

    @cached_property
    def denial(self) -> str | None:
        """In what way the caller lacks access: ``origin``, ``caller``, ``operation``, ``result`` or ``connection``."""
        if not self._trusted:
            return "origin"
        entered = self.origin["authority"] if self.origin["kind"] == "federated" else None
        entries = [
            c
            for c in self.config["callers"]
            if all(c.get(m) == self.context.get(m) for m in _WHO) and c.get("origin") == entered
        ]
        name, connection = self.request.get("operation"), self.request.get("connection")
        if not entries:
            return "caller"
        entries = [c for c in entries if name in c["may"]]
        if not entries:
            return "operation"
        entries = [c for c in entries if name in c.get("sees", c["may"])]
        if not entries:
            return "result"
        reached = any(c.get("connections") is None or connection in c["connections"] for c in entries)
        return None if reached else "connection"

    @cached_property
    def origin(self) -> Raw:
        """Where the call came in; directly where it does not say."""
        found: Raw = self.context.get("origin") or {"kind": "direct", "authority": self.config["instance"]}
        return found

    @cached_property
    def digest(self) -> str:
        """The canonical input digest."""
        return hashlib.sha256(_encode(self.request["input"]).encode()).hexdigest()

    @property
    def connection_revision(self) -> str:
        """The revision of the connection that the call names."""
        for connection in self.config.get("connections", ()):
            if connection["id"] == self.request["connection"]:
                return str(connection["revision"])
        return str((self.operation or {}).get("connection_revision", "1"))

    @cached_property
    def coordinates(self) -> Raw:
        """The fingerprint as its coordinates, by the name of the cell that each stands for."""
        origin = self.origin
        routes = [o for o in self.config.get("origins", ()) if o["authority"] == origin["authority"]]
        return {
            "operation": self.request["operation"],
            "connection": self.request["connection"],
            "connection-revision": self.connection_revision,
            "revision": self.request["revision"],
            "configuration": self.config["config_revision"],
            "input": self.digest,
            "route": _encode(routes) if origin["kind"] == "federated" else None,
        }

    @cached_property
    def namespace(self) -> str:
        """The caller's namespace: equal for callers that share keys."""
        return _encode([self.config["instance"], *(self.context.get(m) for m in _WHO), self.origin])

    @property
    def mode(self) -> str:
        """The approval that the operation needs."""
        return str((self.operation or {}).get("approval", "not_required"))

    @property
    def credential(self) -> str:
        """The state of the credential of the connection."""
        for connection in self.config.get("connections", ()):
            if connection["id"] == self.request["connection"]:
                return str(connection["credential"]["state"])
        return "ready"

    def presented(self, wall_ms: int) -> Presented | None:
        """What the request presents to an operation that needs it; None for a reference that nobody issued."""
        given = self.request.get("approval") or {}
        records = self.config.get({"required": "approvals", "event_claim": "event_claims"}.get(self.mode, ""), ())
        found = [r for r in records if r["reference"] == given.get("reference")]
        if not found:
            return None
        exact = [r for r in found if r["evidence"] == given.get("evidence")]
        record = (exact or found)[0]
        return Presented(record, frozenset(self._failing(record, bool(exact), wall_ms)))

    def _failing(self, record: Raw, exact: bool, wall_ms: int) -> Iterator[str]:
        if not exact:
            yield "evidence"
        if record["issuer"] not in self.config.get("issuers", ()):
            yield "issuer"
        if wall_ms >= record["expires_at"]:
            yield "expiry"
        mine = {
            **{member: self.context.get(member) for member in _WHO},
            "origin": self.origin,
            "operation": self.request["operation"],
            "operation_revision": self.request["revision"],
            "connection": self.request["connection"],
            "connection_revision": self.connection_revision,
            "input_digest": self.digest,
        }
        yield from (AXES[member] for member, value in mine.items() if record["subject"][member] != value)

    @property
    def _trusted(self) -> bool:
        if self.origin["kind"] == "direct":
            return bool(self.origin["authority"] == self.config["instance"])
        return any(o["authority"] == self.origin["authority"] for o in self.config.get("origins", ()))

    def _refusals(self) -> Iterator[str]:
        request, operation = self.request, self.operation
        if request.get("version") != "v1alpha2":
            yield "version"
        if not self._well_formed():
            yield "envelope"
        if not self._readable():
            return
        if self.denial is not None:
            yield "access"
        if operation is not None and request["revision"] != operation["revision"]:
            yield "freshness"
        if operation is None or not self._bound(operation):
            yield "bound_lookup"
        if operation is None:
            return
        if not operation["enabled"]:
            yield "enablement"
        if not self._fits(operation):
            yield "input_shape"
        if not self._within(operation):
            yield "input_scope"
        key = request.get("idempotency_key")
        if (operation["idempotency"] == "keyed") != (key is not None) or key == "":
            yield "key_presence"

    def _well_formed(self) -> bool:
        request = self.request
        approval, key = request.get("approval"), request.get("idempotency_key")
        return (
            self._readable()
            and set(request) <= _MEMBERS
            and (key is None or isinstance(key, str))
            and (approval is None or (isinstance(approval, Mapping) and set(approval) == {"reference", "evidence"}))
        )

    def _readable(self) -> bool:
        """Whether the call can be asked at all what it names."""
        texts = (self.request.get(name) for name in _TEXTS)
        return all(isinstance(text, str) and text for text in texts) and isinstance(self.request.get("input"), Mapping)

    def _bound(self, operation: Raw) -> bool:
        connections = self.config.get("connections")
        named = self.request["connection"]
        return operation["connection"] == named and (connections is None or any(c["id"] == named for c in connections))

    def _fits(self, operation: Raw) -> bool:
        value, shape = self.request["input"], operation.get("input")
        if len(_encode(self.request).encode()) > operation.get("request_bytes", REQUEST_BYTES):
            return False
        if not isinstance(value.get("marker"), str):
            return False
        if shape is None:
            return True
        members = shape["members"]
        known = set(shape["required"]) <= set(value) <= {*members, "marker"}
        return known and all(type(value[n]) is _KINDS[kind] for n, kind in members.items() if n in value)

    def _within(self, operation: Raw) -> bool:
        """Whether some entry of the caller lets it act on the resource; one that is denied is not asked."""
        member = operation.get("scope")
        if member is None:
            return True
        entries = [c for c in self.config["callers"] if all(c.get(m) == self.context.get(m) for m in _WHO)]
        named = self.request["input"].get(member)
        return not entries or any(c.get("resources") is None or named in c["resources"] for c in entries)
