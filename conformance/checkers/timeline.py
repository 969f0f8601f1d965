"""What every family's index starts from: commands with their answers, connections, row moves, faults, kills, times.

One pass over a history, linear in its length. A family adds what its rows mean.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from conformance.history import Event, History

END: Final = 1 << 60
Change = tuple[str, str | None, str | None]


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


@dataclass(slots=True)
class Connection:
    """One connection at the remote, and the command that was outstanding in its process when it was opened.

    ``how`` is how it ended: answered, cut, closed, reset, abandoned; ``identity`` the id that a success told of.
    """

    seq: int
    number: int
    proc: str
    command: Command | None
    method: str | None = None
    path: str | None = None
    marker: str | None = None
    key: str | None = None
    digest: str | None = None
    read: bool = False
    request_seq: int | None = None
    how: str | None = None
    status: int | None = None
    effect: str | None = None
    identity: str | None = None
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
    changes: frozenset[Change]
    command: Command | None


@dataclass(frozen=True, slots=True)
class Look:
    """One snapshot: why it was taken, for which process, and the rows by kind."""

    seq: int
    why: str
    proc: str
    kinds: Mapping[str, Any]


class Timeline:
    """Everything that needs no knowledge of a protocol."""

    def __init__(self, history: History) -> None:
        self.readings = history.readings
        self.commands: list[Command] = []
        self.connections: list[Connection] = []
        self.moves: list[Move] = []
        self.faults: list[Fault] = []
        self.looks: list[Look] = []
        self.kills: list[tuple[int, str]] = []
        self.times: list[tuple[int, int, bool]] = []
        self.configs: list[tuple[int, Mapping[str, Any]]] = []
        self._starts: list[tuple[int, str]] = []
        self._open: dict[str, Command] = {}
        self._by_number: dict[int, Connection] = {}
        self._log = 0
        for event in history.events:
            handler = self._HANDLERS.get((event.cls, event.kind))
            if handler is not None:
                handler(self, event)
        self._look_seqs = [look.seq for look in self.looks]
        self._command_seqs = [command.seq for command in self.commands]
        self._by_command: dict[int, list[Connection]] = {}
        for connection in self.connections:
            self._by_command.setdefault(id(connection.command), []).append(connection)

    def look_before(self, seq: int) -> Look | None:
        """The last snapshot before an event."""
        at = bisect_left(self._look_seqs, seq)
        return self.looks[at - 1] if at else None

    def look_after(self, seq: int) -> Look | None:
        """The first snapshot after an event."""
        at = bisect_left(self._look_seqs, seq)
        return self.looks[at] if at < len(self.looks) else None

    def look_at(self, connection: Connection) -> Look | None:
        """The snapshot that was taken while the remote had read this request and not answered yet."""
        look = self.look_after(connection.request_seq) if connection.request_seq is not None else None
        return look if look is not None and look.why == "request" and look.proc == connection.proc else None

    def config_at(self, seq: int) -> Mapping[str, Any]:
        """The configuration that was in force at an event."""
        return next(config for at, config in reversed(self.configs) if at < seq)

    def started_with(self, proc: str, seq: int) -> Mapping[str, Any]:
        """The configuration that was in force when the process that bore this name at an event was started."""
        began = next((at for at, name in reversed(self._starts) if name == proc and at < seq), seq)
        return self.config_at(began)

    def configs_seen(self, command: Command) -> list[Mapping[str, Any]]:
        """What a command may go by: what its process was started with, and whatever was in force until its end.

        A process may keep what it was started with, or follow what is put in force beside it (``live_config``).
        """
        later = [config for at, config in self.configs if command.seq < at < command.until]
        return [self.started_with(command.proc, command.seq), self.config_at(command.seq), *later]

    def connections_of(self, command: Command) -> list[Connection]:
        """The connections that were opened while this command was outstanding in its process."""
        return self._by_command.get(id(command), [])

    def during(self, outer: Command, cmds: frozenset[str]) -> Iterator[Command]:
        """Commands of other processes that were sent while ``outer`` was outstanding."""
        first = bisect_right(self._command_seqs, outer.seq)
        for c in self.commands[first : bisect_left(self._command_seqs, outer.until)]:
            if c.proc != outer.proc and c.cmd in cmds:
                yield c

    # -- building ----------------------------------------------------------------------------------------------

    def _on_config(self, event: Event) -> None:
        self.configs.append((event.seq, event.data["config"]))

    def _on_start(self, event: Event) -> None:
        self._starts.append((event.seq, event.proc))

    def _on_command(self, event: Event) -> None:
        command = Command(event.seq, event.proc, event.data["cmd"], event.data["args"])
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
        connection, data = self._connection(event), event.data
        connection.method, connection.path, connection.digest = data["method"], data["path"], data["digest"]
        connection.marker, connection.key, connection.read = data["marker"], data.get("key"), data["read"]
        connection.request_seq = event.seq

    def _on_response(self, event: Event) -> None:
        connection = self._connection(event)
        connection.how, connection.status = event.data["how"], event.data["status"]
        connection.end_seq = event.seq

    def _on_abandoned(self, event: Event) -> None:
        connection = self._connection(event)
        connection.how, connection.end_seq = "abandoned", event.seq

    def _on_meaning(self, event: Event) -> None:
        # What the suite meant with an answer says nothing where the wire is not shown.
        if event.data["conn"] in self._by_number:
            connection = self._connection(event)
            connection.effect, connection.identity = event.data["effect"], event.data.get("identity")

    def _connection(self, event: Event) -> Connection:
        return self._by_number[event.data["conn"]]

    def _on_rows(self, event: Event) -> None:
        kinds = event.data["kinds"]
        self.looks.append(Look(event.seq, event.data["why"], event.proc, kinds))
        log = kinds.get("status_log", ())
        for entry in log[self._log :]:
            self.moves.append(Move(event.seq, entry["entity"], entry["id"], entry["from_state"], entry["to_state"]))
        self._log = max(self._log, len(log))

    def _on_fault(self, event: Event) -> None:
        changes = frozenset((c[0], c[1], c[2]) for c in event.data.get("changes", ()))
        members = (event.data["action"], event.data["point"], event.data.get("world"))
        self.faults.append(Fault(event.seq, event.proc, *members, changes, self._open.get(event.proc)))

    def _on_kill(self, event: Event) -> None:
        self.kills.append((event.seq, event.proc))

    def _on_time(self, event: Event) -> None:
        self.times.append((event.seq, event.data["wall_ms"], event.data["trusted"]))

    _HANDLERS: ClassVar[Mapping[tuple[str, str], Callable[[Timeline, Event], None]]] = {
        ("suite", "config"): _on_config,
        ("suite", "start"): _on_start,
        ("suite", "command"): _on_command,
        ("answer", "answer"): _on_answer,
        ("wire", "connection"): _on_connection,
        ("wire", "request"): _on_request,
        ("wire", "response"): _on_response,
        ("wire", "abandoned"): _on_abandoned,
        ("suite", "meaning"): _on_meaning,
        ("rows", "rows"): _on_rows,
        ("suite", "fault"): _on_fault,
        ("suite", "kill"): _on_kill,
        ("suite", "time"): _on_time,
    }
