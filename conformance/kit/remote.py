"""The remote port: one request, and an honest distinction between an answer and the lack of one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from conformance.kit.clock import ClockPort
from conformance.kit.seam import Seam


@dataclass(frozen=True, slots=True)
class Request:
    """What leaves the process: method, path under the remote's base URL, body bytes, and headers of its own."""

    method: str
    path: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RemoteAnswer:
    """A complete HTTP answer: status and body bytes. Whether it is definite is the caller's judgement."""

    status: int
    body: bytes

    def json(self) -> Any:
        """The decoded body, or None when it is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


class RemoteUnknown(Exception):
    """No complete answer came (refused, reset, cut short, timed out): the effect is unknown to the caller."""


class Exchange(Protocol):
    """One request under way on some transport."""

    def poll(self) -> RemoteAnswer | RemoteUnknown | None:
        """The outcome, or None while there is none."""
        ...

    def abandon(self) -> None:
        """Give up: close the connection."""
        ...


class Transport(Protocol):
    """How requests leave the process: sockets in a real process, a direct call in the simulated one."""

    def send(self, base_url: str, request: Request) -> Exchange:
        """Start one request and return at once."""
        ...


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class RemotePort:
    """The one way out. It sends exactly what it is asked to, once, and never retries."""

    def __init__(self, seam: Seam, clock: ClockPort, transport: Transport, base_url: str, suspend: Any) -> None:
        self._seam = seam
        self._clock = clock
        self._transport = transport
        self._base_url = base_url
        self._suspend = suspend
        self.pending: Exchange | None = None

    def post(self, step: str, path: str, payload: Mapping[str, Any], deadline_mono_ms: int | None) -> RemoteAnswer:
        """POST ``payload`` as JSON to ``path`` under the remote's base URL and wait for the answer.

        Raises :class:`RemoteUnknown` when no complete answer came before ``deadline_mono_ms`` (elapsed ms).
        """
        body = _encode(payload).encode()
        return self.send(step, Request("POST", path, body), deadline_mono_ms)

    def send(self, step: str, request: Request, deadline_mono_ms: int | None) -> RemoteAnswer:
        """Send exactly these bytes and wait for the answer.

        Raises :class:`RemoteUnknown` when no complete answer came before ``deadline_mono_ms`` (elapsed ms).
        """
        self._seam.reach(step, "remote")
        exchange = self._transport.send(self._base_url, request)
        outcome = exchange.poll()
        while outcome is None:
            self.pending = exchange
            self._suspend()
            self.pending = None
            outcome = exchange.poll()
            # Time moves only while the command is suspended: a request that began late is cut at the next look, not in
            # the middle of its own connecting, where nobody could say what had left.
            if outcome is None and deadline_mono_ms is not None and self._clock.peek().mono_ms >= deadline_mono_ms:
                exchange.abandon()
                outcome = RemoteUnknown("timeout")
        self._seam.reach(step, "answered")
        if isinstance(outcome, RemoteUnknown):
            raise outcome
        return outcome
