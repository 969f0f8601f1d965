"""One pass over a mutation-host history: commands with their answers, connections, row moves, faults and kills.

Every question of a checker is answered by a dictionary or a bisection, so that judging stays linear in the history.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import Any, Final

from conformance.checkers.mutation.cases import Case, make_cases
from conformance.checkers.mutation.facts import (
    END,
    OPENED,
    Clock,
    Command,
    Connection,
    Fault,
    Kill,
    Move,
    Rows,
)
from conformance.checkers.mutation.slots import Slots
from conformance.history import Event, History
from conformance.rows import states_of

_SEQ: Final = attrgetter("seq")


class Index:
    """Everything that the mutation checkers ask of one history. Built once, linear in its length.

    A driver without ``status_log`` is ``sampled``: its moves are the differences between one snapshot and the next.
    """

    def __init__(self, history: History) -> None:
        self.readings = history.readings
        self._family = history.family
        self.commands: list[Command] = []
        self.connections: list[Connection] = []
        self.moves: list[Move] = []
        self.faults: list[Fault] = []
        self.rows: list[Rows] = []
        self.kills: list[Kill] = []
        self.clocks: list[Clock] = []
        #: Every configuration document with the event that brought it.
        self.configs: list[tuple[int, Mapping[str, Any]]] = []
        self.sampled = False
        #: The last seen row of every attempt.
        self.attempts: dict[str, Mapping[str, Any]] = {}
        self._open: dict[str, Command] = {}
        self._spoken: dict[str, dict[Any, Command]] = {}
        self._by_number: dict[int, Connection] = {}
        self._asking: Connection | None = None
        self._states: dict[tuple[str, str], Any] = {}
        self._kinds: object = None
        self._log = 0
        for event in history.events:
            handler = _HANDLERS.get((event.cls, event.kind))
            if handler is not None:
                handler(self, event)
        self._attribute()

    # -- questions ---------------------------------------------------------------------------------------------

    @cached_property
    def invocations(self) -> list[Command]:
        """The ``host.invoke`` commands, in order."""
        return [c for c in self.commands if c.invokes]

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The invocations with what the configuration of their moment makes of them."""
        return make_cases(self)

    @cached_property
    def linked(self) -> bool:
        """Whether the rows say which request made each attempt: without that nobody can be said to own none."""
        return bool(self.rows) and all(row.get("request_id") is not None for row in self.attempts.values())

    def attempts_of(self, command: Command) -> list[str]:
        """The attempts that carry this invocation's request id."""
        return self.attempts_under(command.request_id)

    def attempts_under(self, request_id: str) -> list[str]:
        """The attempts that carry a request id."""
        return self._by_request.get(request_id, [])

    def repetitions(self, command: Command) -> list[Command]:
        """The invocations of the same subject, in order, this one among them."""
        return self._by_subject.get(command.subject, [])

    def clocks_within(self, command: Command) -> Iterator[Clock]:
        """What the time was set to while a command was outstanding."""
        first = bisect_right(self.clocks, command.seq, key=_SEQ)
        return iter(self.clocks[first : bisect_left(self.clocks, command.until, key=_SEQ)])

    def owner(self, attempt: str) -> Command | None:
        """The invocation that made an attempt."""
        return self._makers.get(self.attempts[attempt].get("request_id"))

    def connections_of(self, command: Command) -> list[Connection]:
        """The connections that speak for this invocation, also those that came after its answer."""
        return self._by_sender.get(command.seq, [])

    def moves_of(self, attempt: str) -> list[Move]:
        """The status log of one attempt."""
        return self._by_attempt.get(attempt, [])

    def opened(self, attempt: str) -> bool:
        """Whether the gate of an attempt was ever seen open, or the attempt in a state that lies behind it."""
        return any(m.dest in OPENED for m in self.moves_of(attempt)) or self.attempts[attempt].get("state") in OPENED

    def rows_before(self, seq: int) -> Rows | None:
        """The last snapshot before an event."""
        at = bisect_left(self.rows, seq, key=_SEQ)
        return self.rows[at - 1] if at else None

    def rows_after(self, seq: int) -> Rows | None:
        """The first snapshot after an event."""
        at = bisect_right(self.rows, seq, key=_SEQ)
        return self.rows[at] if at < len(self.rows) else None

    def clock_at(self, seq: int) -> Clock | None:
        """What the time was last set to before an event; None before the configuration says where it begins."""
        at = bisect_left(self.clocks, seq, key=_SEQ)
        return self.clocks[at - 1] if at else None

    def config_at(self, seq: int) -> Mapping[str, Any]:
        """The configuration that was in force at an event; empty before the first."""
        at = bisect_left(self.configs, seq, key=itemgetter(0))
        return self.configs[at - 1][1] if at else {}

    def configs_over(self, command: Command) -> list[Mapping[str, Any]]:
        """Every configuration that was in force at some time while a command was outstanding, in order."""
        first, last = (bisect_left(self.configs, seq, key=itemgetter(0)) for seq in (command.seq, command.until))
        return [config for _, config in self.configs[max(first - 1, 0) : last]]

    def reconfigured(self, command: Command) -> bool:
        """Whether another configuration came into force while a command was outstanding."""
        return bisect_left(self.configs, command.seq, key=itemgetter(0)) != bisect_left(
            self.configs, command.until, key=itemgetter(0)
        )

    def struck(self, command: Command) -> bool:
        """Whether a fault struck this command's process during it."""
        return command.seq in self._struck

    def during(self, outer: Command, cmds: frozenset[str]) -> Iterator[Command]:
        """Commands of other processes that were sent while ``outer`` was outstanding."""
        for at in range(bisect_right(self.commands, outer.seq, key=_SEQ), len(self.commands)):
            c = self.commands[at]
            if c.seq >= outer.until:
                return
            if c.proc != outer.proc and c.cmd in cmds:
                yield c

    def elapsed(self, command: Command) -> int:
        """The ms by which the suite moved time on while a command was outstanding."""
        before, after = self.clock_at(command.seq), self.clock_at(command.until)
        if after is None:
            return 0
        return after.mono_ms - (before.mono_ms if before else 0)

    def seen_by(self, command: Command) -> int:
        """The event in which the rows were first looked at after this command was over: its moves show by then."""
        rows = self.rows_after(command.until)
        return rows.seq if rows else END

    def recovered_after(self, seq: int) -> bool:
        """Whether a pass of recovery that began after this event says that it was done, no store fault striking it."""
        struck = {f.command.seq for f in self.faults if f.command is not None and f.action in ("fail", "lose-ack")}
        passes = (c for c in self.commands if c.cmd == "recover" and c.seq > seq and c.outcome == "done")
        return any(c.result.get("status", "done") == "done" and c.seq not in struck for c in passes)

    @cached_property
    def slots(self) -> Slots:
        """Who holds which key, generation by generation."""
        return Slots(self)

    # -- derived once ------------------------------------------------------------------------------------------

    @cached_property
    def _by_request(self) -> Mapping[Any, list[str]]:
        found: dict[Any, list[str]] = {}
        for attempt, row in self.attempts.items():
            found.setdefault(row.get("request_id"), []).append(attempt)
        return found

    @cached_property
    def _struck(self) -> frozenset[int]:
        return frozenset(f.command.seq for f in self.faults if f.command is not None)

    @cached_property
    def _by_subject(self) -> Mapping[object, list[Command]]:
        found: dict[object, list[Command]] = {}
        for command in self.invocations:
            found.setdefault(command.subject, []).append(command)
        return found

    @cached_property
    def _makers(self) -> Mapping[Any, Command]:
        makers: dict[Any, Command] = {}
        for command in self.invocations:
            makers.setdefault(command.request_id, command)
        return makers

    @cached_property
    def _by_attempt(self) -> Mapping[str, list[Move]]:
        found: dict[str, list[Move]] = {}
        for move in self.moves:
            if move.entity == "mutation_attempt":
                found.setdefault(move.id, []).append(move)
        return found

    @cached_property
    def _by_sender(self) -> Mapping[int, list[Connection]]:
        found: dict[int, list[Connection]] = {}
        for connection in self.connections:
            if connection.sender is not None:
                found.setdefault(connection.sender.seq, []).append(connection)
        return found

    def _attribute(self) -> None:
        """Find whom each connection speaks for.

        A request that an invocation still owed when it was answered as unknown may go out later (the reading
        late-success-still-sends); what else connects during another command is that command's doing. Rows are not
        asked here, so that a checker which does not read them sees the same senders.
        """
        sent: set[int] = set()
        for connection in self.connections:
            sender, command = connection.latest, connection.command
            if command is not None and not command.invokes and sender is not None:
                owed = sender.seq not in sent and sender.unsure
                sender = sender if owed and connection.marker == sender.marker else None
            connection.sender = sender
            if sender is not None:
                sent.add(sender.seq)

    # -- building ----------------------------------------------------------------------------------------------

    def _on_command(self, event: Event) -> None:
        command = Command(event.seq, event.proc, event.data["cmd"], event.data["args"], self.config_at(event.seq))
        self.commands.append(command)
        self._open[event.proc] = command
        if command.invokes:
            spoken = self._spoken.setdefault(event.proc, {})
            spoken[command.marker] = spoken[None] = command

    def _on_answer(self, event: Event) -> None:
        command = self._open.pop(event.proc, None)
        if command is not None:
            command.until, command.outcome = event.seq, event.data["outcome"]
            result = event.data.get("result")
            command.result = result if isinstance(result, Mapping) else {}

    def _on_connection(self, event: Event) -> None:
        command = self._open.get(event.proc)
        mine = command if command is not None and command.invokes else self._spoken.get(event.proc, {}).get(None)
        connection = Connection(event.seq, event.data["conn"], event.proc, command, mine)
        self.connections.append(connection)
        self._by_number[connection.number] = connection

    def _on_request(self, event: Event) -> None:
        connection = self._by_number.get(event.data["conn"])
        if connection is None:
            return
        connection.marker, connection.read = event.data["marker"], event.data["read"]
        connection.request_seq = event.seq
        self._asking = connection if connection.read else None
        if connection.latest is None or connection.marker != connection.latest.marker:
            spoken = self._spoken.get(event.proc, {}).get(connection.marker)
            connection.latest = spoken or connection.latest

    def _on_response(self, event: Event) -> None:
        connection = self._by_number.get(event.data["conn"])
        if connection is not None:
            connection.how, connection.status = event.data["how"], event.data["status"]
            connection.end_seq = event.seq

    def _on_abandoned(self, event: Event) -> None:
        connection = self._by_number.get(event.data["conn"])
        if connection is not None:
            connection.how, connection.end_seq = "abandoned", event.seq

    def _on_meaning(self, event: Event) -> None:
        # Absent where a checker is shown no wire: then there is nothing that this could be the meaning of.
        connection = self._by_number.get(event.data["conn"])
        if connection is not None:
            connection.effect, connection.identity = event.data["effect"], event.data.get("identity")

    def _on_rows(self, event: Event) -> None:
        kinds = event.data["kinds"]
        at_work = tuple(self._open.values())
        if kinds is self._kinds:
            last = self.rows[-1]
            members = (last.attempts, last.reservations, at_work, last.spends)
            rows = Rows(event.seq, event.data["why"], event.proc, *members)
        else:
            attempts = {r["attempt"]: r for r in kinds.get("attempts", ())}
            held = {r["reservation"]: r for r in kinds["reservations"]} if "reservations" in kinds else None
            spends = tuple(kinds["spends"]) if "spends" in kinds else None
            rows = Rows(event.seq, event.data["why"], event.proc, attempts, held, at_work, spends)
            self.attempts.update(attempts)
            self._take_moves(event.seq, kinds)
        self._kinds = kinds
        self.rows.append(rows)
        if rows.why == "request" and self._asking is not None and self._asking.proc == event.proc:
            self._asking.rows, self._asking = rows, None

    def _take_moves(self, seq: int, kinds: Mapping[str, Any]) -> None:
        if "status_log" in kinds:
            log = kinds["status_log"]
            for entry in log[self._log :]:
                self.moves.append(Move(seq, entry["entity"], entry["id"], entry["from_state"], entry["to_state"]))
            self._log = max(self._log, len(log))
            return
        self.sampled = True
        for (entity, name), state in states_of(self._family, kinds).items():
            before = self._states.get((entity, name))
            if state != before:
                self.moves.append(Move(seq, entity, name, before, state))
                self._states[entity, name] = state

    def _on_fault(self, event: Event) -> None:
        changes = frozenset((c[0], c[1], c[2]) for c in event.data.get("changes", ()))
        command = self._open.get(event.proc)
        members = (event.data["action"], event.data["point"], event.data.get("world"))
        outage = bool(event.data.get("outage"))
        self.faults.append(Fault(event.seq, event.proc, *members, changes, command, outage))

    def _on_kill(self, event: Event) -> None:
        self.kills.append(Kill(event.seq, event.proc, self._open.get(event.proc)))
        self._spoken.pop(event.proc, None)

    def _on_config(self, event: Event) -> None:
        self.configs.append((event.seq, event.data.get("config", {})))
        if "clock" in event.data:
            self._take_clock(event.seq, event.data["clock"])

    def _on_time(self, event: Event) -> None:
        self._take_clock(event.seq, event.data)

    def _take_clock(self, seq: int, data: Mapping[str, Any]) -> None:
        self.clocks.append(Clock(seq, data["wall_ms"], data["mono_ms"], data["trusted"]))


_HANDLERS: Final = {
    ("suite", "config"): Index._on_config,
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
