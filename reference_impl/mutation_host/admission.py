"""Steps 1 to 3 of an invocation: who asks, is the description current, is the operation there and enabled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.kit import Unsupported
from reference_impl.mutation_host.model import Call, fingerprint, input_digest, namespace

Config = Mapping[str, Any]
_MEMBERS = frozenset({"version", "request_id", "operation", "connection", "revision", "input", "idempotency_key"})


class Denied(Exception):
    """The call is refused before anything about keys, attempts or originals may show."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def admit(config: Config, context: Mapping[str, Any], request: Mapping[str, Any], deadline_mono_ms: int) -> Call:
    """The admitted call, or :class:`Denied` with the code of the first check that refuses (spec: precedence)."""
    if (
        request.get("version") != "v1alpha2"
        or not set(request) <= _MEMBERS
        or not isinstance(request.get("input"), dict)
    ):
        raise Denied("invalid_input")
    may_observe(config, context, request["operation"])
    operation = _operations(config).get(request["operation"])
    if operation is None:
        raise Denied("not_found")
    # Freshness comes ahead of the bound lookup, as far as there is an operation to be fresh.
    if request["revision"] != operation["revision"]:
        raise Denied("stale_description")
    if operation["connection"] != request["connection"]:
        raise Denied("not_found")
    if not operation.get("enabled", True):
        raise Denied("forbidden")
    if operation.get("approval", "not_required") != "not_required":
        raise Unsupported("approval", "this host does not verify approvals yet")
    key = request.get("idempotency_key")
    keyed = operation["idempotency"] == "keyed"
    if keyed != (key is not None) or key == "":
        raise Denied("invalid_input")
    digest = input_digest(request["input"])
    return Call(
        request_id=request["request_id"],
        operation=operation["id"],
        connection=operation["connection"],
        caller=context["caller"],
        input=request["input"],
        input_digest=digest,
        key=key,
        namespace=namespace(config["instance"], context),
        fingerprint=fingerprint(config["config_revision"], operation, request, digest),
        deadline_mono_ms=deadline_mono_ms,
    )


def may_observe(config: Config, context: Mapping[str, Any], operation: str) -> None:
    """Whether this caller may see results of this operation now; raises :class:`Denied` otherwise."""
    for caller in config["callers"]:
        identity = {k: caller.get(k) for k in ("caller", "tenant", "realm", "executor")}
        if identity == {k: context.get(k) for k in identity} and operation in caller["may"]:
            return
    raise Denied("forbidden")


def _operations(config: Config) -> Mapping[str, Any]:
    return {op["id"]: op for op in config["operations"]}
