"""The effect contract of the mutation host: ``POST /effect/<operation>`` with a marker and an input (DESIGN 5)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from conformance.remote.remote import Parsed, Reply, plain_error

_PREFIX = "/effect/"
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class EffectContract:
    """Definite success is 200 ``{"effect":"done"}``, a definite refusal 422 ``{"effect":"none"}``; nothing else is."""

    def parse(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Parsed:
        """Attribute a request by the marker in its body."""
        del headers
        if method != "POST" or not path.startswith(_PREFIX):
            return Parsed(None, None, f"{method} {path} is no POST {_PREFIX}<operation>")
        operation = path[len(_PREFIX) :]
        try:
            payload = json.loads(body)
        except ValueError:
            return Parsed(None, operation, "the body is not JSON")
        marker = payload.get("marker") if isinstance(payload, dict) else None
        if not isinstance(marker, str):
            return Parsed(None, operation, "the body has no marker")
        return Parsed(marker, operation)

    def success(self, parsed: Parsed, number: int, identity: str | None) -> Reply:
        """The effect happened; ``id`` tells one effect from another."""
        made = identity or f"t{number}"
        return replace(_json(200, {"effect": "done", "id": made, "marker": parsed.marker}), identity=made)

    def refusal(self, parsed: Parsed, code: str) -> Reply:
        """The effect certainly did not happen."""
        return _json(422, {"effect": "none", "code": code, "marker": parsed.marker})

    def indefinite(self, parsed: Parsed, status: int) -> Reply:
        """A status that proves nothing; its body claims what would be definite under another, as a proxy's may."""
        if status in (200, 422):
            return plain_error(status)
        claim = {"effect": "done", "id": "t0"} if status % 2 else {"effect": "none", "code": "not_allowed"}
        return _json(status, {**claim, "marker": parsed.marker})


def _json(status: int, value: dict[str, object]) -> Reply:
    body = _encode(value).encode()
    return Reply(status, body, len(body))
