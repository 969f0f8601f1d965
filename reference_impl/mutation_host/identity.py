"""What makes two requests the same: canonical input, namespace of a key, and fingerprint (mutation-profile 5.1).

Every form is canonical JSON, so that no two different tuples share one text; ``tests/golden`` has vectors that were
computed without this code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def canonical_json(value: Any) -> str:
    """Sorted keys, no insignificant white space: adapter-v1-canonical-json for ASCII and integers; ``1.0`` is ``1``."""
    return _encode(_whole(value))


def input_digest(value: Mapping[str, Any]) -> str:
    """SHA-256 over the canonical input (mutation-profile 4)."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def origin_of(instance: str, context: Mapping[str, Any]) -> Mapping[str, str]:
    """Where the request entered: without a word about it, directly at this instance."""
    return context.get("origin") or {"kind": "direct", "authority": instance}


def namespace(instance: str, context: Mapping[str, Any]) -> str:
    """The trusted namespace of a caller: all elements of mutation-key/v1 but the key, which has its own column."""
    return canonical_json(_authority(instance, context))


def mutation_key(instance: str, context: Mapping[str, Any], key: str) -> str:
    """The whole mutation-key/v1 tuple, as an index over one text would hold it; absence stays ``null``."""
    return canonical_json([*_authority(instance, context), key])


def fingerprint(
    config: Mapping[str, Any],
    context: Mapping[str, Any],
    operation: Mapping[str, Any],
    request: Mapping[str, Any],
    digest: str,
) -> str:
    """The coordinates of mutation-request/v2; ids, deadlines, the key, approvals and credentials are no part of it."""
    return canonical_json(
        {
            "fingerprint": "mutation-request/v2",
            "operation": operation["id"],
            "connection": [operation["connection"], connection_revision(config, operation)],
            "contract": ["operations/v1alpha1", request["version"], "mutation"],
            "descriptor_revision": operation["revision"],
            "config_revision": config["config_revision"],
            "canonicalization": "adapter-v1-canonical-json",
            "input_digest": digest,
            "route": _route(config, context),
        }
    )


def connection_revision(config: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
    """The revision of the connection's metadata: of the connection where it is configured, else of the operation."""
    for connection in config.get("connections", ()):
        if connection["id"] == operation["connection"]:
            return str(connection["revision"])
    return str(operation.get("connection_revision", "1"))


def subject_of(
    config: Mapping[str, Any], context: Mapping[str, Any], operation: Mapping[str, Any], digest: str
) -> Mapping[str, Any]:
    """The canonical subject that an approval is bound to (mutation-profile 4, step 5)."""
    return {
        **{member: context.get(member) for member in ("caller", "tenant", "realm", "executor")},
        "origin": dict(origin_of(config["instance"], context)),
        "operation": operation["id"],
        "operation_revision": operation["revision"],
        "connection": operation["connection"],
        "connection_revision": connection_revision(config, operation),
        "input_digest": digest,
    }


def _authority(instance: str, context: Mapping[str, Any]) -> list[Any]:
    origin = origin_of(instance, context)
    who = [context.get("tenant"), context.get("realm"), context["caller"], context.get("executor")]
    return ["mutation-key/v1", instance, *who, origin["kind"], origin["authority"]]


def _route(config: Mapping[str, Any], context: Mapping[str, Any]) -> list[str] | None:
    origin = origin_of(config["instance"], context)
    for trusted in config.get("origins", ()):
        if origin["kind"] == "federated" and trusted["authority"] == origin["authority"]:
            return [trusted["authority"], trusted["route"], trusted["route_revision"]]
    return None


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _whole(member) for name, member in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list) else value
