"""The facts of a mutation-host history that the index is made of: commands, connections, moves, faults, snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.checkers.mutation.policy import Policy

TERMINAL: Final = frozenset({"Completed", "Failed", "Indeterminate", "Aborted"})
#: The states that an attempt reaches only through its gate.
OPENED: Final = frozenset({"Dispatching", "Completed", "Failed", "Indeterminate"})
END: Final = 1 << 60


@dataclass(slots=True, eq=False)
class Command:
    """One command and its answer; ``until`` is the answer's place in the history (a kill's, or the end)."""

    seq: int
    proc: str
    cmd: str
    args: Mapping[str, Any]
    #: The configuration that was in force when it was sent.
    config: Mapping[str, Any] = field(default_factory=dict)
    until: int = END
    outcome: str = "open"
    result: Mapping[str, Any] = field(default_factory=dict)
    _policies: dict[int, Policy] = field(default_factory=dict, repr=False)

    def under(self, config: Mapping[str, Any]) -> Policy:
        """What a configuration says of this invocation; asked by many checkers, and made once."""
        known = self._policies.get(id(config))
        if known is None or known.config is not config:
            known = self._policies[id(config)] = Policy(config, self.args["context"], self.request)
        return known

    @property
    def invokes(self) -> bool:
        """Whether this is a ``host.invoke``: only then it has a request."""
        return self.cmd == "host.invoke"

    @property
    def request(self) -> Mapping[str, Any]:
        """The request of an invocation."""
        request: Mapping[str, Any] = self.args["request"]
        return request

    @property
    def request_id(self) -> str:
        """The request id of an invocation."""
        return str(self.request["request_id"])

    @property
    def key(self) -> str | None:
        """The idempotency key of an invocation."""
        return self.request.get("idempotency_key")

    @property
    def marker(self) -> Any:
        """The marker of an invocation's input."""
        return self.request["input"].get("marker")

    @property
    def subject(self) -> tuple[str, str | None, str]:
        """What makes two invocations exact duplicates: receiver and caller, key, and the request without its own id.

        The revisions that the configuration adds to the request count as well.
        """
        request = sorted((k, v) for k, v in self.request.items() if k != "request_id")
        named = (op for op in self.config.get("operations", ()) if op["id"] == self.request.get("operation"))
        bound = next((op.get("connection_revision") for op in named), None)
        receiver = (self.config.get("instance"), self.config.get("config_revision"), bound)
        return (repr((receiver, self.args["context"])), self.key, repr(request))

    @property
    def classification(self) -> str | None:
        """The classification that the answer discloses, if any."""
        mutation = self.result.get("mutation")
        return mutation.get("classification") if isinstance(mutation, Mapping) else None

    @property
    def mutation(self) -> Mapping[str, Any]:
        """The observation that the answer discloses; empty where it discloses none."""
        mutation = self.result.get("mutation")
        return mutation if isinstance(mutation, Mapping) else {}

    @property
    def told(self) -> str:
        """What the caller was told, in words."""
        return f"the caller was told {self.classification} with {self.code or 'success'}"

    @property
    def unsure(self) -> bool:
        """Whether the answer leaves open what became of the caller's own attempt: unknown, and no replay."""
        mutation = self.result.get("mutation")
        return self.classification == "unknown" and isinstance(mutation, Mapping) and not mutation.get("replayed")

    @property
    def told_attempt(self) -> str | None:
        """The id of the attempt that the answer speaks of, if it names one."""
        attempt = self.mutation.get("attempt")
        return attempt.get("id") if isinstance(attempt, Mapping) else None

    @property
    def code(self) -> str | None:
        """The error code of the answer, if any."""
        error = self.result.get("error")
        return error.get("code") if isinstance(error, Mapping) else None


@dataclass(slots=True, eq=False)
class Connection:
    """One connection at the remote.

    ``command`` was outstanding in its process when it was opened; ``sender`` is the invocation that it speaks for,
    which may have been answered before. ``rows`` is what the ledger said when the request arrived.
    """

    seq: int
    number: int
    proc: str
    command: Command | None
    latest: Command | None = None
    sender: Command | None = None
    marker: str | None = None
    read: bool = False
    request_seq: int | None = None
    rows: Rows | None = None
    how: str | None = None
    status: int | None = None
    effect: str | None = None
    #: The id of what a success has made.
    identity: str | None = None
    end_seq: int = END

    @property
    def known(self) -> bool:
        """Whether a complete answer told the client what became of the effect."""
        return self.how == "answered" and self.effect in ("done", "none")


@dataclass(frozen=True, slots=True)
class Move:
    """A change of state and the event in which it was first seen."""

    seq: int
    entity: str
    id: str
    source: str | None
    dest: str | None


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that fired, with the row changes that the same call made in the recording.

    With an ``outage`` the store has failed at every later call of this process, too.
    """

    seq: int
    proc: str
    action: str
    point: str
    world: str | None
    changes: frozenset[tuple[str, str | None, str | None]]
    command: Command | None
    outage: bool = False


@dataclass(frozen=True, slots=True)
class Kill:
    """A process that was killed, and the command that it was doing."""

    seq: int
    proc: str
    command: Command | None


@dataclass(frozen=True, slots=True)
class Clock:
    """What the suite set the time to."""

    seq: int
    wall_ms: int
    mono_ms: int
    trusted: bool


@dataclass(frozen=True, slots=True)
class Rows:
    """One snapshot: attempts and reservations by id, who was at work, and spends (None: no such kind is shown)."""

    seq: int
    why: str
    proc: str
    attempts: Mapping[str, Mapping[str, Any]]
    reservations: Mapping[str, Mapping[str, Any]] | None
    at_work: tuple[Command, ...]
    spends: tuple[Mapping[str, Any], ...] | None = None

    def state(self, attempt: str) -> str | None:
        """The state of an attempt in this snapshot."""
        row = self.attempts.get(attempt)
        return None if row is None else row.get("state")
