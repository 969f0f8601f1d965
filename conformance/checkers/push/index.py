"""What a connector-push history says of each record: its attempts, its link, its requests, and which one too many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from conformance.checkers.timeline import Command, Connection, Fault, Look, Timeline
from conformance.history import Event, History

ACTIVE: Final = (
    "pending",
    "processing",
    "post_sent",
    "ambiguous_remote_effect",
    "writeback_commit_pending",
    "writeback_pending",
)
#: A local record: its object and its id.
Record = tuple[str, str]
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A request for a record after another one, which no contract and no superseding permits.

    ``why`` tells what was known of the first by then: ``id`` (its remote id was durable), ``kept`` (only a failed
    attempt keeps it), ``refused`` (definitely nothing was made), ``overlap`` (it was under way, for another attempt),
    ``told`` (its answer had been delivered and no rows are shown), ``unknown`` (it may have worked).
    """

    record: Record
    first: Connection
    again: Connection
    why: str


@dataclass(frozen=True, slots=True)
class Replay:
    """A request that repeats another of the same key, as the contract of the time permits."""

    record: Record
    first: Connection
    again: Connection


@dataclass(frozen=True, slots=True)
class Clock:
    """The time as the suite gives it from one event on."""

    seq: int
    wall_ms: int
    mono_ms: int
    trusted: bool


def attempts(look: Look | None, record: Record | None = None) -> list[Row]:
    """The attempt rows of one snapshot, of one record or of all."""
    rows = look.kinds.get("attempts", ()) if look else ()
    return [r for r in rows if record is None or (r["object"], r["record"]) == record]


def links(look: Look | None, record: Record | None = None) -> list[Row]:
    """The link rows of one snapshot, of one record or of all."""
    rows = look.kinds.get("links", ()) if look else ()
    return [r for r in rows if record is None or (r["object"], r["record"]) == record]


class Index(Timeline):
    """The timeline with the meaning of connector push."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._markers: dict[str, Record] = {}
        for command in self.commands:
            if command.cmd == "push.write_record":
                marker = command.args["fields"].get("marker")
                if isinstance(marker, str):
                    self._markers[marker] = (command.args["object"], command.args["id"])
        self.clocks = [found for event in history.events if (found := _clock(event)) is not None]
        #: (place, process, kind) of everything that a process is seen in; of a fault its action.
        self.acts = [(e.seq, e.proc, str(e.data.get("action", e.kind))) for e in history.events if e.proc]

    def clock_at(self, seq: int) -> Clock:
        """The time at an event."""
        return next(clock for clock in reversed(self.clocks) if clock.seq < seq)

    def clocks_within(self, start: int, end: int) -> list[Clock]:
        """Every time that it was between two events."""
        before = [clock for clock in self.clocks if clock.seq <= start][-1:]
        return [*before, *(clock for clock in self.clocks if start < clock.seq < end)]

    @cached_property
    def saves(self) -> list[Command]:
        """The saves that may push, in order."""
        return [c for c in self.commands if c.cmd == "push.trigger"]

    @cached_property
    def by_record(self) -> Mapping[Record, list[Connection]]:
        """The connections of each record, in order."""
        found: dict[Record, list[Connection]] = defaultdict(list)
        for connection in self.connections:
            record = self.record_of(connection)
            if record is not None:
                found[record].append(connection)
        return found

    def record_of(self, connection: Connection) -> Record | None:
        """Whose request it was: by its marker, else by the save that was under way, else by the one open checkpoint."""
        if connection.marker is not None:
            return self._markers.get(connection.marker)
        if connection.command is not None and connection.command.cmd == "push.trigger":
            return record_of(connection.command)
        rows = attempts(self.look_after(connection.seq)) or attempts(self.look_before(connection.seq))
        mine = {(r["object"], r["record"]) for r in rows if r.get("io_started_at") is not None}
        return next(iter(mine)) if len(mine) == 1 else None

    @cached_property
    def id_forms(self) -> Mapping[str, set[str]]:
        """The forms that the profiles of each destination slot ever declared for remote ids."""
        found: dict[str, set[str]] = defaultdict(set)
        for _, config in self.configs:
            for pack in config["packs"]:
                for profile in pack["profiles"]:
                    found[str(profile["destination_slot"])].add(str(profile["remote_id_form"]))
        return found

    @cached_property
    def authored(self) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """(pack, action) of everything that any configuration authors, the oldest first."""
        packs = (pack for _, config in self.configs for pack in config["packs"])
        return [(pack, action) for pack in packs for action in pack["actions"]]

    def slot_of(self, source_object: str) -> str:
        """The destination slot of the pushes of an object."""
        found = (str(a["destination_slot"]) for _, a in self.authored if a["source_object"] == source_object)
        return next(found, "")

    def canonical(self, slot: str, remote_id: str) -> str:
        """The form in which two spellings are one id; where a profile was edited, an id is what it is spelled."""
        return remote_id.casefold() if self.id_forms.get(slot) == {"case_insensitive"} else remote_id

    def locator(self, row: Row) -> str | None:
        """The remote id on a link or an attempt, in its canonical form."""
        slot = str(row.get("destination_slot") or self.slot_of(row["object"]))
        return None if row["remote_id"] is None else self.canonical(slot, str(row["remote_id"]))

    @cached_property
    def key_headers(self) -> set[str]:
        """The headers, in lower case, that any profile ever named for the key of a request."""
        profiles = (p for _, config in self.configs for pack in config["packs"] for p in pack["profiles"])
        return {str(p["replay"]["header"]).lower() for p in profiles if p["replay"] is not None}

    @cached_property
    def attempt_of(self) -> Mapping[str, Row]:
        """The last seen row of every attempt."""
        return {row["attempt"]: row for look in self.looks for row in look.kinds.get("attempts", ())}

    @cached_property
    def dests(self) -> Mapping[str, list[str | None]]:
        """The states that each attempt went through, in order."""
        found: dict[str, list[str | None]] = defaultdict(list)
        for move in self.moves:
            if move.entity == "create_attempt":
                found[move.id].append(move.dest)
        return found

    @cached_property
    def killed_commands(self) -> list[tuple[int, Command]]:
        """(place of the kill, command) of every command that a kill ended."""
        # A command that a kill ends is answered by the suite (no-answer) right after the kill.
        ended = {c.until: c for c in self.commands if c.outcome == "no-answer"}
        return [(seq, ended[seq + 1]) for seq, _ in self.kills if seq + 1 in ended]

    @cached_property
    def _written(self) -> Mapping[Record, set[tuple[str, Any]]]:
        found: dict[Record, set[tuple[str, Any]]] = defaultdict(set)
        for command in self.commands:
            record = record_of(command)
            if command.cmd == "push.write_record" and record is not None:
                plain = ((n, v) for n, v in command.args["fields"].items() if isinstance(v, str | int))
                found[record].update(plain)
        return found

    def written_values(self, record: Record) -> set[tuple[str, Any]]:
        """(field, value) of everything that users ever wrote on a record."""
        return self._written.get(record, set())

    @cached_property
    def crashes(self) -> list[tuple[Fault, Command]]:
        """(fault, command) of every crash at a chosen call, while a command was outstanding there."""
        return [(f, f.command) for f in self.faults if f.action == "crash" and f.command is not None]

    def concerns(self, command: Command, record: Record) -> bool:
        """Whether a command may act on a record: a save or an act on it, or any pass of a worker."""
        return command.cmd in ("push.work", "recover") or record_of(command) == record

    @cached_property
    def _tempting(self) -> Mapping[Record | None, int]:
        """The last save of each record, and under None the last pass of a worker."""
        found: dict[Record | None, int] = {}
        for command in self.commands:
            if command.cmd in ("push.trigger", "push.work"):
                found[record_of(command)] = command.seq
        return found

    def later(self, seq: int, record: Record) -> bool:
        """Whether after an event something was asked that might tempt into another request for the record."""
        return max(self._tempting.get(record, -1), self._tempting.get(None, -1)) > seq

    @cached_property
    def _superseding(self) -> Mapping[Record | None, list[Command]]:
        """The acts that may have closed an attempt of each record."""
        found: dict[Record | None, list[Command]] = defaultdict(list)
        for command in self.commands:
            told = command.result.get("status") in ("done", "unknown") or command.outcome == "no-answer"
            if command.cmd == "push.operate" and command.args.get("act") == "supersede" and told:
                found[record_of(command)].append(command)
        return found

    def superseded_between(self, record: Record, start: int, end: int) -> bool:
        """Whether an explicit act closed the record's attempt between two events."""
        return any(start < command.seq < end for command in self._superseding.get(record, ()))

    def contract_at(self, connection: Connection, path: str | None = None) -> bool:
        """Whether repetitions of this request may have been frozen as safe; ``path`` where nothing of it was read.

        An attempt freezes its contract at some time from the save that reserved it to its first request; a declaration
        that was in force at any time in between may be what it holds (connector-push, drift matrix: recovery cannot
        widen, and uses the frozen declaration).
        """
        record = self.record_of(connection)
        closed = [c.seq for c in self._superseding.get(record, ()) if c.seq < connection.seq]
        after = closed[-1] if closed else -1
        saves = (c for c in self.saves if record_of(c) == record and after < c.seq < connection.seq)
        save = next(saves, None)
        since = connection.seq if save is None else save.seq
        seen = [config for at, config in self.configs if since < at < connection.seq]
        for command in (save, connection.command):
            seen += [] if command is None else self.configs_seen(command)
        route = path if connection.request_seq is None else connection.path
        return any(declares_replay(config, route) for config in seen or [self.config_at(since)])

    @cached_property
    def replays(self) -> list[Replay]:
        """The permitted repetitions."""
        return [found for found in self._again() if isinstance(found, Replay)]

    @cached_property
    def repeats(self) -> list[Repeat]:
        """The requests that are one too many."""
        return [found for found in self._again() if isinstance(found, Repeat)]

    def _again(self) -> Iterator[Replay | Repeat]:
        for record, connections in self.by_record.items():
            first: Connection | None = None
            for connection in connections:
                if first is None or self.superseded_between(record, first.seq, connection.seq):
                    first = connection
                elif self._permitted(first, connection):
                    yield Replay(record, first, connection)
                else:
                    yield Repeat(record, first, connection, self._why(record, first, connection))

    def _permitted(self, first: Connection, again: Connection) -> bool:
        """Whether a contract may permit the repetition: under one key, as far as anything of the first was read."""
        if again.request_seq is None:
            # Nothing of it was read: whether it bore the key is known to nobody.
            return self.contract_at(first, first.path)
        unread = first.request_seq is None
        return again.key is not None and (unread or first.key == again.key) and self.contract_at(first, again.path)

    def _why(self, record: Record, first: Connection, again: Connection) -> str:
        look = self.look_before(again.seq)
        mine = attempts(look, record)
        known = [row for row in mine if row["remote_id"] is not None]
        if links(look, record) or any(row["state"] not in ("terminal_failed", "superseded") for row in known):
            return "id"
        if known:
            return "kept"
        if first.how == "answered" and first.effect == "none" and first.end_seq < again.seq:
            return "refused"
        if first.end_seq > again.seq and len(attempts(self.look_after(again.seq), record)) != 1:
            return "overlap"
        delivered = first.how == "answered" and first.effect == "done" and first.end_seq < again.seq
        if delivered and not self.looks and first.command is not None and first.command.outcome == "done":
            return "told"
        return "unknown"


def _clock(event: Event) -> Clock | None:
    """The time that an event tells, or None."""
    if (event.cls, event.kind) == ("suite", "time"):
        told = event.data
    elif (event.cls, event.kind) == ("suite", "config"):
        told = event.data["clock"]
    else:
        return None
    return Clock(event.seq, told["wall_ms"], told["mono_ms"], told["trusted"])


def declares_replay(config: Mapping[str, Any], path: str | None) -> bool:
    """Whether the profile behind a create route, or any where the route is not known, declares repetitions as safe."""
    for pack in config["packs"]:
        safe = {p["destination_slot"] for p in pack["profiles"] if p["replay"] is not None}
        if any(path in (None, a["create_path"]) and a["destination_slot"] in safe for a in pack["actions"]):
            return True
    return False


def record_of(command: Command) -> Record | None:
    """The record that a command names, or None."""
    if "object" in command.args and "id" in command.args:
        return (str(command.args["object"]), str(command.args["id"]))
    return None
