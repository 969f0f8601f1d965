"""Steps 1 to 3 of an invocation: who asks, is the description current, is the operation there, does the input fit.

The order is that of spec/tables/precedence.yaml; the first check that refuses decides, and says nothing of keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from reference_impl.mutation_host.identity import fingerprint, input_digest, namespace, origin_of, subject_of
from reference_impl.mutation_host.model import Call
from reference_impl.mutation_host.settings import Config, Settings
from reference_impl.mutation_host.shape import fits

Request = Mapping[str, Any]
Context = Mapping[str, Any]
_TEXTS: Final = ("request_id", "operation", "connection", "revision")
_MEMBERS: Final = frozenset({"version", *_TEXTS, "input", "idempotency_key", "approval"})
_APPROVAL: Final = frozenset({"reference", "evidence"})
_IDENTITY: Final = ("caller", "tenant", "realm", "executor")


class Denied(Exception):
    """The call is refused before anything about keys, attempts or originals may show."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Admission:
    """Admits calls by the configuration of the moment, and looks again before anything of an original is shown."""

    def __init__(self, settings: Settings, request_bytes: int) -> None:
        self._settings = settings
        self._request_bytes = request_bytes

    def admit(self, context: Context, request: Request, deadline_mono_ms: int) -> Call:
        """The admitted call, or :class:`Denied` with the code of the first check that refuses."""
        config = self._settings.current()
        self.check_envelope(config, request)
        grants = self.check_access(config, context, request["operation"], request["connection"])
        operation = self.check_lookup(config, request)
        self.check_input(operation, grants, request)
        self.check_key(operation, request.get("idempotency_key"))
        digest = input_digest(request["input"])
        return Call(
            instance=config["instance"],
            request_id=request["request_id"],
            operation=operation["id"],
            connection=operation["connection"],
            caller=context["caller"],
            input=request["input"],
            input_digest=digest,
            key=request.get("idempotency_key"),
            namespace=namespace(config["instance"], context),
            fingerprint=fingerprint(config, context, operation, request, digest),
            deadline_mono_ms=deadline_mono_ms,
            context=context,
            mode=operation["approval"],
            presented=request.get("approval"),
            subject=subject_of(config, context, operation, digest),
            capacity=config.get("capacity", {}).get("reservations"),
        )

    def recheck(self, call: Call) -> None:
        """Whether the caller may still see what the call names; raises :class:`Denied` otherwise.

        Authority, lookup, enablement and scope of the moment; a description that went stale meanwhile is no denial of
        what was admitted while it was current.
        """
        config = self._settings.current()
        grants = self.check_access(config, call.context, call.operation, call.connection)
        operation = _bound(config, call.operation, call.connection)
        _in_scope(operation, grants, call.input)

    def check_envelope(self, config: Config, request: Request) -> None:
        """Framing, version, closed members and syntactic identifiers: nothing that depends on the operation."""
        largest = max([self._request_bytes, *(op.get("request_bytes", 0) for op in config["operations"])])
        approval, key = request.get("approval"), request.get("idempotency_key")
        sound = (
            _size(request) <= largest
            and request.get("version") == "v1alpha2"
            and set(request) <= _MEMBERS
            and all(isinstance(request.get(name), str) and request[name] for name in _TEXTS)
            and isinstance(request.get("input"), dict)
            and (key is None or isinstance(key, str))
            and (
                approval is None or (set(approval) == _APPROVAL and all(isinstance(v, str) for v in approval.values()))
            )
        )
        if not sound:
            raise Denied("invalid_input")

    def check_access(self, config: Config, context: Context, operation: str, connection: str) -> Mapping[str, Any]:
        """The caller's entry, if it may invoke what the call names and see its results through a verified origin."""
        origin = origin_of(config["instance"], context)
        if not _verified(config, origin):
            raise Denied("forbidden")
        entered = origin["authority"] if origin["kind"] == "federated" else None
        for caller in config["callers"]:
            if any(caller.get(m) != context.get(m) for m in _IDENTITY) or caller.get("origin") != entered:
                continue
            seen = caller.get("sees", caller["may"])
            reached = caller.get("connections")
            if operation in caller["may"] and operation in seen and (reached is None or connection in reached):
                found: Mapping[str, Any] = caller
                return found
        raise Denied("forbidden")

    def check_lookup(self, config: Config, request: Request) -> Mapping[str, Any]:
        """The fresh, bound and enabled operation; freshness first, as far as there is an operation to be fresh."""
        found = _operation(config, request["operation"])
        if found is not None and request["revision"] != found["revision"]:
            raise Denied("stale_description")
        return _bound(config, request["operation"], request["connection"])

    def check_input(self, operation: Mapping[str, Any], grants: Mapping[str, Any], request: Request) -> None:
        """The operation's own bound, then the shape of the input, then its containment in the admitted scope."""
        within = _size(request) <= operation.get("request_bytes", self._request_bytes)
        if not within or not fits(request["input"], operation.get("input")):
            raise Denied("invalid_input")
        _in_scope(operation, grants, request["input"])

    def check_key(self, operation: Mapping[str, Any], key: str | None) -> None:
        """A keyed operation has a nonempty key, any other has none (mutation-profile 5.2)."""
        if (operation["idempotency"] == "keyed") != (key is not None) or key == "":
            raise Denied("invalid_input")


def _verified(config: Config, origin: Mapping[str, str]) -> bool:
    if origin["kind"] == "direct":
        return bool(origin["authority"] == config["instance"])
    return any(trusted["authority"] == origin["authority"] for trusted in config.get("origins", ()))


def _operation(config: Config, name: str) -> Mapping[str, Any] | None:
    return next((op for op in config["operations"] if op["id"] == name), None)


def _bound(config: Config, name: str, connection: str) -> Mapping[str, Any]:
    operation = _operation(config, name)
    connections = config.get("connections")
    known = connections is None or any(c["id"] == connection for c in connections)
    if operation is None or operation["connection"] != connection or not known:
        raise Denied("not_found")
    if not operation.get("enabled", True):
        raise Denied("forbidden")
    return operation


def _in_scope(operation: Mapping[str, Any], grants: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    member, resources = operation.get("scope"), grants.get("resources")
    if member is not None and resources is not None and given.get(member) not in resources:
        raise Denied("forbidden")


def _size(request: Request) -> int:
    return len(json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode())
