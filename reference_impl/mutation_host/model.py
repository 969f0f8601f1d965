"""The values that the host passes around: a call under way, a ledger row, and what an observer answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reference_impl.store import Row

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def canonical_json(value: Any) -> str:
    """Sorted keys, no insignificant white space: adapter-v1-canonical-json for ASCII and integers."""
    return _encode(value)


@dataclass(frozen=True, slots=True)
class Call:
    """One admitted invocation: what is to be done, for whom, under which key, and until when (elapsed ms)."""

    request_id: str
    operation: str
    connection: str
    caller: str
    input: Mapping[str, Any]
    input_digest: str
    key: str | None
    namespace: str
    fingerprint: str
    deadline_mono_ms: int


def input_digest(value: Mapping[str, Any]) -> str:
    """SHA-256 over the canonical input (mutation-profile 4)."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Record:
    """A reservation with its attempt as one read saw them; ``reservation`` is None for an unkeyed attempt."""

    attempt: str
    request_id: str
    state: str
    result: str | None
    cause: str | None
    reservation: str | None
    reservation_state: str | None
    fingerprint: str | None
    replay_expires_at: int | None

    @staticmethod
    def from_row(row: Row) -> Record:
        """The record in a row of :data:`RECORD_SQL`."""
        return Record(*tuple(row))


RECORD_SQL = """SELECT a.attempt, a.request_id, a.state, a.result, a.cause,
    r.reservation, r.state, r.fingerprint, r.replay_expires_at
    FROM attempts a LEFT JOIN reservations r ON r.attempt = a.attempt"""


def namespace(instance: str, context: Mapping[str, Any]) -> str:
    """The trusted namespace of a caller (mutation-profile 5.1), an injective canonical JSON array without the key."""
    origin = context.get("origin") or {"kind": "direct", "authority": instance}
    return canonical_json(
        [
            "mutation-key/v1",
            instance,
            context.get("tenant"),
            context.get("realm"),
            context["caller"],
            context.get("executor"),
            origin["kind"],
            origin["authority"],
        ]
    )


def fingerprint(config_revision: str, operation: Mapping[str, Any], request: Mapping[str, Any], digest: str) -> str:
    """The coordinates of mutation-request/v2; ids, deadlines, the key and approvals are no part of it."""
    return canonical_json(
        {
            "fingerprint": "mutation-request/v2",
            "operation": operation["id"],
            "connection": [operation["connection"], operation.get("connection_revision", "1")],
            "contract": ["operations/v1alpha1", request["version"], "mutation"],
            "descriptor_revision": operation["revision"],
            "config_revision": config_revision,
            "canonicalization": "adapter-v1-canonical-json",
            "input_digest": digest,
            "route": None,
        }
    )
