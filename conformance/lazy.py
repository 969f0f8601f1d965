"""Lazy drivers: they claim everything and do nothing. A suite that they pass proves nothing (DESIGN section 8)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from conformance.carriers.base import Link, Message, Session
from conformance.carriers.places import StateDirectory
from conformance.remote.remote import Remote

_ATTEMPT: Final = {"attempt": {"instance": "host-a", "id": "a1"}, "original_request_id": None, "replayed": False}

#: name -> what it answers to every command; None says nothing at all.
LAZY: Final[dict[str, dict[str, Any] | None]] = {
    "always-done": {
        "outcome": "done",
        "result": {
            "status": "success",
            "result": {},
            "mutation": {"classification": "applied", "cause": None, **_ATTEMPT},
        },
    },
    "always-refused": {
        "outcome": "done",
        "result": {
            "status": "error",
            "error": {"code": "forbidden"},
            "mutation": {"classification": "not_attempted", "cause": "forbidden", **_ATTEMPT},
        },
    },
    "always-unknown": {
        "outcome": "done",
        "result": {
            "status": "error",
            "error": {"code": "outcome_unknown"},
            "mutation": {"classification": "unknown", "cause": None, **_ATTEMPT},
        },
    },
    "always-unsupported": {"outcome": "unsupported", "feature": "everything", "reason": "lazy"},
    "silent": None,
}


class LazyLink:
    """A driver process that answers without doing anything."""

    def __init__(self, reply: Mapping[str, Any] | None, families: tuple[str, ...]) -> None:
        self._reply = reply
        self._families = families
        self._outbox: deque[Message] = deque()

    def send(self, message: Message) -> None:
        """Answer at once, or never."""
        if self._reply is None and message["cmd"] in ("command", "recover"):
            return
        self._outbox.append({"id": message["id"], **self._answer(message["cmd"])})

    def recv(self) -> Message | None:
        """The next answer."""
        return self._outbox.popleft() if self._outbox else None

    def pending(self) -> bool:
        """Whether an answer waits."""
        return bool(self._outbox)

    def listen(self) -> None:
        """It never waits."""

    def departed(self, patience_ms: int) -> str:
        """It has always left already."""
        del patience_ms
        return ""

    def kill(self) -> None:
        """There is nothing to kill."""

    def _answer(self, verb: str) -> Mapping[str, Any]:
        if verb == "hello":
            identity = {
                "v": 1,
                "name": "lazy",
                "version": "1",
                "language": "none",
                "families": list(self._families),
                "features": ["status_log", "concurrent", "live_config", "legacy_rows"],
                "rung": "L2",
                "clock": "virtual",
            }
            return {"outcome": "done", "result": identity}
        if verb in ("command", "recover") and self._reply is not None:
            return self._reply
        if verb == "snapshot":
            return {"outcome": "done", "result": {"source": "store", "kinds": {}}}
        return {"outcome": "done", "result": {}}


class LazySession:
    """Lazy processes around an empty directory."""

    def __init__(self, reply: Mapping[str, Any] | None, families: tuple[str, ...]) -> None:
        self._reply = reply
        self._families = families
        self._place = StateDirectory()
        self.state_dir = self._place.path

    def start(self, proc: str) -> Link:
        """Another lazy process."""
        del proc
        return LazyLink(self._reply, self._families)

    def base_url(self, proc: str) -> str:
        """Never used."""
        return f"lazy://{proc}"

    def close(self) -> None:
        """Remove the directory."""
        self._place.remove()


class LazyCarrier:
    """Carries one of :data:`LAZY`."""

    def __init__(self, name: str, families: tuple[str, ...]) -> None:
        self.name = name
        self.rung = "L2"
        self._families = families

    def open(self, remote: Remote) -> Session:
        """One schedule; the remote will not hear of it."""
        del remote
        return LazySession(LAZY[self.name], self._families)

    def shutdown(self) -> None:
        """Nothing to release."""
