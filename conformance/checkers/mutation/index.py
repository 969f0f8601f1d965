"""One pass over a mutation-host history: commands with their answers, connections, row moves, faults and kills."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from conformance.history import Event, History

TERMINAL: Final = frozenset({"Completed", "Failed", "Indeterminate", "Aborted"})
END: Final = 1 << 60


@dataclass(slots=True)
class Command:
    """One command and its answer; ``until`` is the answer's place in the history (a kill's, or the end)."""

    seq: int
    proc: str
    cmd: str
    args: Mapping[str, Any]
    until: int = END
    outcome: str = "open"
    result: Mapping[str, Any] = field(default_factory=dict)
    wall_ms: int = 0

    @property
    def request(self) -> Mapping[str, Any]:
        """The request of an invocation."""
        request: Mapping[str, Any] = self.args["request"]
        return request

    @property
    def marker(self) -> Any:
        """The marker of an invocation's input."""
        return self.request["input"].get("marker")

    @property
    def subject(self) -> tuple[str, str | None, str]:
        """What makes two invocations exact duplicates: caller, key, and the request without its own id."""
        request = {k: v for k, v in self.request.items() if k != "request_id"}
        return (repr(self.args["context"]), self.request.get("idempotency_key"), repr(request))

    @property
    def classification(self) -> str | None:
        """The classification that the answer discloses, if any."""
        mutation = self.result.get("mutation")
        return mutation.get("classification") if isinstance(mutation, Mapping) else None

    @property
    def code(self) -> str | None:
        """The error code of the answer, if any."""
        error = self.result.get("error")
        return error.get("code") if isinstance(error, Mapping) else None


@dataclass(slots=True)
class Connection:
    """One connection at the remote, and the command that was outstanding in its process when it was opened."""

    seq: int
    number: int
    proc: str
    command: Command | None
    marker: str | None = None
    read: bool = False
    request_seq: int | None = None
    how: str | None = None
    status: int | None = None
    effect: str | None = None
    end_seq: int = END


@dataclass(frozen=True, slots=True)
class Move:
    """One entry of the status log and the event in which it was first seen."""

    seq: int
    entity: str
    id: str
    source: str | None
    dest: str | None


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that fired, with the row changes that the same call made in the recording."""

    seq: int
    proc: str
    action: str
    point: str
    world: str | None
    changes: frozenset[tuple[str, str | None, str | None]]
    command: Command | None


@dataclass(frozen=True, slots=True)
class Rows:
    """One snapshot: why it was taken, attempts and reservations by id."""

    seq: int
    why: str
    proc: str
    attempts: Mapping[str, Mapping[str, Any]]
    reservations: Mapping[str, Mapping[str, Any]]


class Index:
    """Everything that the mutation checkers ask of one history. Built once, linear in its length."""

    def __init__(self, history: History) -> None:
        self.commands: list[Command] = []
        self.connections: list[Connection] = []
        self.moves: list[Move] = []
        self.faults: list[Fault] = []
        self.rows: list[Rows] = []
        self.kills: list[tuple[int, str]] = []
        self.times: list[tuple[int, int, bool]] = []
        self._open: dict[str, Command] = {}
        self._by_number: dict[int, Connection] = {}
        self._log = 0
        self._wall_ms = 0
        for event in history.events:
            handler = _HANDLERS.get((event.cls, event.kind))
            if handler is not None:
                handler(self, event)

    @cached_property
    def invocations(self) -> list[Command]:
        """The ``host.invoke`` commands, in order."""
        return [c for c in self.commands if c.cmd == "host.invoke"]

    @cached_property
    def attempts(self) -> Mapping[str, Mapping[str, Any]]:
        """The last seen row of every attempt."""
        last: dict[str, Mapping[str, Any]] = {}
        for rows in self.rows:
            last.update(rows.attempts)
        return last

    def attempts_of(self, command: Command) -> list[str]:
        """The attempts that carry this invocation's request id."""
        wanted = command.request["request_id"]
        return [a for a, row in self.attempts.items() if row["request_id"] == wanted]

    def owner(self, attempt: str) -> Command | None:
        """The invocation that made an attempt."""
        wanted = self.attempts[attempt]["request_id"]
        return next((c for c in self.invocations if c.request["request_id"] == wanted), None)

    def connections_of(self, command: Command) -> list[Connection]:
        """The connections that were opened while this command was outstanding in its process."""
        return [c for c in self.connections if c.command is command]

    def moves_of(self, attempt: str) -> list[Move]:
        """The status log of one attempt."""
        return [m for m in self.moves if m.entity == "mutation_attempt" and m.id == attempt]

    def rows_before(self, seq: int) -> Rows | None:
        """The last snapshot before an event."""
        return next((r for r in reversed(self.rows) if r.seq < seq), None)

    def during(self, outer: Command, cmds: frozenset[str]) -> Iterator[Command]:
        """Commands of other processes that were sent while ``outer`` was outstanding."""
        for c in self.commands:
            if c.proc != outer.proc and c.cmd in cmds and outer.seq < c.seq < outer.until:
                yield c

    def seen_by(self, command: Command) -> int:
        """The event in which the rows were first looked at after this command was over: its moves show by then."""
        return next((r.seq for r in self.rows if r.seq > command.until), END)

    def recovered_after(self, seq: int) -> bool:
        """Whether a pass of recovery that began after this event says that it was done."""
        passes = (c for c in self.commands if c.cmd == "recover" and c.seq > seq and c.outcome == "done")
        return any(c.result.get("status", "done") == "done" for c in passes)

    # -- building ----------------------------------------------------------------------------------------------

    def _on_command(self, event: Event) -> None:
        command = Command(event.seq, event.proc, event.data["cmd"], event.data["args"], wall_ms=self._wall_ms)
        self.commands.append(command)
        self._open[event.proc] = command

    def _on_answer(self, event: Event) -> None:
        command = self._open.pop(event.proc, None)
        if command is not None:
            command.until, command.outcome = event.seq, event.data["outcome"]
            result = event.data.get("result")
            command.result = result if isinstance(result, Mapping) else {}

    def _on_connection(self, event: Event) -> None:
        connection = Connection(event.seq, event.data["conn"], event.proc, self._open.get(event.proc))
        self.connections.append(connection)
        self._by_number[connection.number] = connection

    def _on_request(self, event: Event) -> None:
        connection = self._by_number[event.data["conn"]]
        connection.marker, connection.read = event.data["marker"], event.data["read"]
        connection.request_seq = event.seq

    def _on_response(self, event: Event) -> None:
        connection = self._by_number[event.data["conn"]]
        connection.how, connection.status = event.data["how"], event.data["status"]
        connection.end_seq = event.seq

    def _on_abandoned(self, event: Event) -> None:
        connection = self._by_number[event.data["conn"]]
        connection.how, connection.end_seq = "abandoned", event.seq

    def _on_meaning(self, event: Event) -> None:
        self._by_number[event.data["conn"]].effect = event.data["effect"]

    def _on_rows(self, event: Event) -> None:
        kinds = event.data["kinds"]
        attempts = {r["attempt"]: r for r in kinds.get("attempts", ())}
        reservations = {r["reservation"]: r for r in kinds.get("reservations", ())}
        self.rows.append(Rows(event.seq, event.data["why"], event.proc, attempts, reservations))
        log = kinds.get("status_log", ())
        for entry in log[self._log :]:
            self.moves.append(Move(event.seq, entry["entity"], entry["id"], entry["from_state"], entry["to_state"]))
        self._log = max(self._log, len(log))

    def _on_fault(self, event: Event) -> None:
        changes = frozenset((c[0], c[1], c[2]) for c in event.data.get("changes", ()))
        command = self._open.get(event.proc)
        members = (event.data["action"], event.data["point"], event.data.get("world"))
        self.faults.append(Fault(event.seq, event.proc, *members, changes, command))

    def _on_kill(self, event: Event) -> None:
        self.kills.append((event.seq, event.proc))

    def _on_time(self, event: Event) -> None:
        self._wall_ms = event.data["wall_ms"]
        self.times.append((event.seq, event.data["wall_ms"], event.data["trusted"]))


_HANDLERS = {
    ("suite", "command"): Index._on_command,
    ("answer", "answer"): Index._on_answer,
    ("wire", "connection"): Index._on_connection,
    ("wire", "request"): Index._on_request,
    ("wire", "response"): Index._on_response,
    ("wire", "abandoned"): Index._on_abandoned,
    ("suite", "meaning"): Index._on_meaning,
    ("rows", "rows"): Index._on_rows,
    ("suite", "fault"): Index._on_fault,
    ("suite", "kill"): Index._on_kill,
    ("suite", "time"): Index._on_time,
}
