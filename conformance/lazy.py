"""Lazy drivers: they claim everything and do nothing. A suite that they pass proves nothing (DESIGN section 8)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from conformance.carriers.base import Link, Message, Session
from conformance.carriers.places import StateDirectory
from conformance.remote.remote import Remote

#: The lazy drivers: each gives one answer to every command, and ``silent`` none.
LAZY: Final = ("always-done", "always-refused", "always-unknown", "always-unsupported", "silent")


def reply_of(name: str, answers: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """What a lazy driver answers, out of the family's own words for done, refused and unknown; None for nothing."""
    if name == "silent":
        return None
    if name == "always-unsupported":
        return {"outcome": "unsupported", "feature": "everything", "reason": "lazy"}
    return {"outcome": "done", "result": dict(answers[name.removeprefix("always-")])}


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

    def __init__(self, name: str, families: tuple[str, ...], answers: Mapping[str, Mapping[str, Any]]) -> None:
        self.name = name
        self.rung = "L2"
        self._families = families
        self._reply = reply_of(name, answers)

    def open(self, remote: Remote) -> Session:
        """One schedule; the remote will not hear of it."""
        del remote
        return LazySession(self._reply, self._families)

    def shutdown(self) -> None:
        """Nothing to release."""
