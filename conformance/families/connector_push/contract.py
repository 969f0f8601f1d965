"""The effect contract of connector push: routes, response path and definite failures come from the configuration."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.remote.remote import Parsed, Reply, plain_error

#: The source field whose value attributes a request to its record, by convention of the suite's configurations.
MARKER = "marker"
Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Route:
    """One authored create: where it goes, how its record is told, where the id is answered, what refuses it."""

    action: str
    path: str
    marker: str
    id_path: str
    rejections: tuple[int, ...]
    key_header: str | None


def routes(configs: Sequence[Config]) -> Iterator[Route]:
    """Every create route that any of the configurations authors, the oldest first."""
    for config in configs:
        for pack in config["packs"]:
            profiles = {p["destination_slot"]: p for p in pack["profiles"]}
            for action in pack["actions"]:
                profile = profiles.get(action["destination_slot"])
                if profile is None or not action["create_path"]:
                    continue
                targets = [row["target"] for row in action["mappings"] if row["source"] == MARKER]
                replay = profile["replay"]
                yield Route(
                    action["name"],
                    action["create_path"],
                    targets[0] if targets else MARKER,
                    action["response_id_path"],
                    tuple(profile["rejections"]),
                    replay["header"].lower() if replay else None,
                )


class PushContract:
    """Success is a 201 with an id at the path of the route, a definite failure a status that its profile declares."""

    def __init__(self, configs: Sequence[Config]) -> None:
        # Of several configurations the first that authored a route says what its requests look like.
        self._routes: dict[str, list[Route]] = {}
        for route in routes(configs):
            known = self._routes.setdefault(route.path, [])
            if route not in known:
                known.append(route)

    def parse(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Parsed:
        """Attribute a create by its route and the marker in its body."""
        known = self._routes.get(path)
        # A key tells of a repetition even where the rest of the request is nothing that anybody authored.
        lower = {name.lower(): value for name, value in headers.items()}
        key = _key(known or [r for found in self._routes.values() for r in found], lower)
        if method != "POST" or known is None:
            return Parsed(None, None, f"{method} {path} is no create route of the configuration", key)
        try:
            payload = json.loads(body)
        except ValueError:
            return Parsed(None, known[0].action, "the body is not JSON", key)
        if not isinstance(payload, dict):
            return Parsed(None, known[0].action, "the body is no object", key)
        marker = next((payload[r.marker] for r in known if isinstance(payload.get(r.marker), str)), None)
        problem = None if marker is not None else "the body has no marker"
        return Parsed(marker, known[0].action, problem, key)

    def success(self, parsed: Parsed, number: int, identity: str | None) -> Reply:
        """The record was made. A repetition that its key gives away gets the id of the first, as its contract says."""
        made = identity or (_stable(parsed.key) if parsed.key else f"x{number}")
        value: Any = made
        for name in reversed(self._route(parsed).id_path.split(".")):
            value = {name: value}
        body = _json(value)
        return Reply(201, body, len(body), made)

    def refusal(self, parsed: Parsed, code: str) -> Reply:
        """The record was certainly not made."""
        rejections = self._route(parsed).rejections
        body = _json({"error": code})
        return Reply(rejections[0] if rejections else 422, body, len(body))

    def indefinite(self, parsed: Parsed, status: int) -> Reply:
        """A status that the profile does not declare, without an id."""
        del parsed
        return plain_error(status)

    def _route(self, parsed: Parsed) -> Route:
        for known in self._routes.values():
            for route in known:
                if route.action == parsed.operation:
                    return route
        return Route("", "", MARKER, "id", (), None)


def _key(known: Sequence[Route], headers: Mapping[str, str]) -> str | None:
    """The key of a request. The same value under another header is another key: the remote looks at one header."""
    names = [r.key_header for r in known if r.key_header is not None]
    for name in names:
        if name in headers:
            return headers[name] if name == names[0] else f"{name} {headers[name]}"
    return None


def _stable(key: str) -> str:
    return "x" + hashlib.sha256(key.encode()).hexdigest()[:8]


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
