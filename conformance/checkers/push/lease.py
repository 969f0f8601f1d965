"""The lease of a claim: whose row it is until then, and what becomes of it afterwards (ATT-035, ATT-040).

A lease is told from the clock that the suite gives and from the configuration, never from what a row says of its end.
It lasts ``workers.lease_ms`` at least from the time that its holder took for that of its claim. An implementation may
renew it, so that a later end counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.push.index import Clock, Index, Record, Row, attempts, record_of
from conformance.checkers.push.registry import CHECKERS
from conformance.checkers.timeline import Command, Connection, Look

_DEFERRED: Final = "deferred_association"
#: States in which a worker owns a lease to validate and send (connector-push, Create Attempt State).
_OWNED: Final = frozenset({"processing", "post_sent"})
#: Each reading of the clock is 1 ms later than the one before: a process may be ahead of the suite by that.
_READINGS_MS: Final = 500


@dataclass(frozen=True, slots=True)
class Hold:
    """One claim, in the snapshots that show it: its first and last, and the first that shows it no more."""

    attempt: str
    record: Record
    holder: str
    claim: str | None
    lane: str
    row: Row
    first: Look
    last: Look
    ended: Look | None
    #: The times of which its lease may count.
    made: tuple[Clock, ...]

    @property
    def unsent(self) -> bool:
        """Whether no I/O had begun when it was seen last."""
        return self.row["state"] == "processing" and self.row["io_started_at"] is None


class Leases:
    """The claims of one history and the leases on them."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lease_ms = min(int(config["workers"]["lease_ms"]) for _, config in index.configs)

    @cached_property
    def holds(self) -> list[Hold]:
        """Every claim on a row that was being sent, in the order in which they end."""
        found: list[Hold] = []
        held: dict[str, Hold] = {}
        for look in self._index.looks:
            rows = {row["attempt"]: row for row in attempts(look)}
            for attempt, hold in list(held.items()):
                row = rows.get(attempt)
                if row is None or not _same(hold, row):
                    found.append(_with(held.pop(attempt), ended=look))
            for attempt, row in rows.items():
                if row["state"] in _OWNED and row["worker"] is not None:
                    known = held.get(attempt)
                    held[attempt] = self._begun(row, look) if known is None else _with(known, row, look)
        return [*found, *held.values()]

    def _begun(self, row: Row, look: Look) -> Hold:
        holder = str(row["worker"])
        # Its holder may have looked at the clock at any time of its command, and have committed the claim later.
        commands = (c.seq for c in reversed(self._index.commands) if c.proc == holder and c.seq < look.seq)
        since = next(commands, -1)
        record = (str(row["object"]), str(row["record"]))
        made = tuple(self._index.clocks_within(since, look.seq))
        return Hold(row["attempt"], record, holder, row["claim"], str(row["lane"]), row, look, look, None, made)

    def over(self, hold: Hold, clock: Clock) -> bool:
        """Whether the lease may be over by a clock: by attested wall time, or by elapsed time."""
        lasts = self._lease_ms - _READINGS_MS
        wall = clock.wall_ms >= min(c.wall_ms for c in hold.made) + lasts
        return (clock.trusted and wall) or clock.mono_ms >= min(c.mono_ms for c in hold.made) + lasts

    def over_within(self, hold: Hold, start: int, end: int) -> bool:
        """Whether it may have been over at any time between two events."""
        return any(self.over(hold, clock) for clock in self._index.clocks_within(start, end))

    def long_over(self, hold: Hold, seq: int) -> bool:
        """Whether it is over by every clock, and by a whole lease more: a margin for clocks that differ is nobody's."""
        clock = self._index.clock_at(seq)
        gone = clock.mono_ms >= max(c.mono_ms for c in hold.made) + 2 * self._lease_ms
        return gone and clock.trusted and clock.wall_ms >= self._due(hold) + self._lease_ms

    def moment(self, hold: Hold, seq: int) -> str | None:
        """Where in the lease an event stands, or None in between: inside, nearly-over, over, or in-doubt."""
        clock = self._index.clock_at(seq)
        left = self._due(hold) - clock.wall_ms
        if not clock.trusted:
            return "in-doubt" if left < 0 and not self.over(hold, clock) else None
        if left * 2 >= self._lease_ms:
            return "inside"
        return "over" if left < 0 else "nearly-over" if 0 < left * 10 <= self._lease_ms else None

    def _due(self, hold: Hold) -> int:
        """The latest end of a lease: what the row tells may be later than what the configuration gives."""
        told = hold.row["lease_expires_at"]
        return max(max(c.wall_ms for c in hold.made) + self._lease_ms, 0 if told is None else int(told))

    @cached_property
    def _acts(self) -> Mapping[str, list[tuple[int, str]]]:
        """(place, kind) of all that each process is seen in; what the suite notes of a dead one is none of its acts."""
        found: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for seq, proc, kind in self._index.acts:
            if not found[proc] or found[proc][-1][1] != "kill" or kind == "start":
                found[proc].append((seq, kind))
        return found

    def stands(self, hold: Hold, start: int, end: int) -> str | None:
        """How the holder stands still between two events: dead, paused, sending or idle; None where it may act."""
        acts = self._acts.get(hold.holder, ())
        before = [kind for seq, kind in acts if seq <= start]
        return _STILL.get(before[-1]) if before and not any(start < seq <= end for seq, _ in acts) else None


#: The last event of a process -> how it stands behind it.
_STILL: Final[Mapping[str, str]] = {
    "kill": "dead",
    "pause": "paused",
    "hang": "paused",
    "connection": "sending",
    "request": "sending",
    # The snapshot of its request is the only one that names it.
    "rows": "sending",
    "answer": "idle",
}


def _same(hold: Hold, row: Row) -> bool:
    return row["state"] in _OWNED and (row["worker"], row["claim"]) == (hold.holder, hold.claim)


def _with(hold: Hold, row: Row | None = None, last: Look | None = None, ended: Look | None = None) -> Hold:
    members = (hold.attempt, hold.record, hold.holder, hold.claim, hold.lane)
    return Hold(*members, row or hold.row, hold.first, last or hold.last, ended, hold.made)


@CHECKERS.checker("ATT-040", "suite", "wire", "answer", "rows")
def back_to_pending_through_lease_expiry_alone(index: Index) -> Iterator[Finding]:
    """While its lease lasts, nobody but its holder moves an unsent claim; when it is over, it goes back or on."""
    leases = Leases(index)
    for hold in leases.holds:
        if not hold.unsent:
            continue
        for pass_ in _passes(index, hold):
            yield from (Met(cell) for cell in _cells(index, leases, hold, pass_))
        if _taken(leases, hold) and hold.ended is not None:
            now = next((row["state"] for row in attempts(hold.ended) if row["attempt"] == hold.attempt), "gone")
            yield Violation(
                f"attempt {hold.attempt[-6:]} left to {hold.holder}, which has claimed and not sent it, for its lease",
                f"another process ended the claim while the lease was running, and it is {now}",
                hold.ended.seq,
                "rows",
            )
        yield from _left_behind(index, leases, hold)


def _taken(leases: Leases, hold: Hold) -> bool:
    """Whether somebody else ended a claim while its lease was running."""
    # A holder may give its own row back, or come to an end with it: only while it stands still is it others' doing.
    ended = hold.ended
    if ended is None or leases.stands(hold, hold.last.seq, ended.seq) is None:
        return False
    return not leases.over_within(hold, hold.last.seq, ended.seq)


def _passes(index: Index, hold: Hold) -> Iterator[Command]:
    """The passes of others that have found the claim and come to their end."""
    for command in index.commands:
        found = index.look_before(command.seq)
        shown = found is not None and hold.first.seq <= found.seq <= hold.last.seq
        if shown and command.cmd in ("push.work", "recover") and command.proc != hold.holder and _done(command):
            yield command


def _done(command: Command) -> bool:
    return command.outcome == "done" and command.result.get("status") == "done"


def _cells(index: Index, leases: Leases, hold: Hold, pass_: Command) -> Iterator[str]:
    moment = leases.moment(hold, pass_.seq)
    stands = leases.stands(hold, pass_.seq, pass_.until)
    who = "recovery" if pass_.cmd == "recover" else "worker" if pass_.args.get("kind") == "general" else "narrow"
    # The narrow worker is for rows of the deferred lane, the recovery step for the others.
    mine = {"worker": True, "narrow": hold.lane == _DEFERRED, "recovery": hold.lane != _DEFERRED}[who]
    if moment is None or not mine:
        return
    if stands == "dead" and _crashed(index, hold):
        yield moment if moment == "in-doubt" else f"{who}-{moment}"
    elif stands == "paused" and moment != "in-doubt":
        yield f"living-{moment}"


def _crashed(index: Index, hold: Hold) -> bool:
    """Whether the holder died right behind a commit of the very command under which it had claimed."""
    claiming = [c for c in index.commands if c.proc == hold.holder and c.seq < hold.first.seq][-1:]
    return any(c in claiming and fault.point.endswith(":committed") for fault, c in index.crashes)


def _left_behind(index: Index, leases: Leases, hold: Hold) -> Iterator[Violation]:
    """A dead process' claim that nobody takes up, though everybody who may has come by long after its lease."""
    asked = [
        c
        for c in index.commands
        if c.seq > hold.first.seq
        and leases.stands(hold, c.seq, c.until) == "dead"
        and c.outcome == "done"
        and leases.long_over(hold, c.seq)
    ]
    # Who resumes a configured row is open: a worker, a recovery step, or the next save.
    wanted = {"push.work"} if hold.lane == _DEFERRED else {"push.work", "recover", "push.trigger"}
    came: set[str] = set()
    for command in asked:
        if record_of(command) == hold.record if command.cmd == "push.trigger" else _consumes(index, command):
            came.add(command.cmd)
        look = index.look_after(command.until)
        if wanted <= came and look is not None and look.seq <= hold.last.seq:
            yield Violation(
                f"attempt {hold.attempt[-6:]} pending or further on, the lease of {hold.holder} being over",
                f"it is still processing under that claim, and {hold.holder} is gone",
                look.seq,
                "rows",
            )
            return


def _consumes(index: Index, command: Command) -> bool:
    """Whether a pass has done what takes rows up: the narrow worker's does where there is no general one."""
    if not _done(command):
        return False
    if command.cmd == "push.work" and command.args.get("kind") == "narrow":
        return not index.started_with(command.proc, command.seq)["workers"]["general"]
    return command.cmd in ("push.work", "recover")


@CHECKERS.checker("ATT-035", "suite", "wire", "answer", "rows")
def one_worker_owns_the_lease(index: Index) -> Iterator[Finding]:
    """While the lease of a claim lasts, nobody else has a claim on the row and nobody else sends for its record."""
    leases = Leases(index)
    for hold in leases.holds:
        yield from (Met(cell) for cell in _shared(index, leases, hold))
        ended = hold.ended
        for row in attempts(ended) if ended is not None and _taken(leases, hold) else ():
            if ended is not None and row["attempt"] == hold.attempt and row["state"] in _OWNED and row["worker"]:
                yield Violation(
                    f"the claim of {hold.holder} alone on attempt {hold.attempt[-6:]} for its lease",
                    f"{row['worker']} has claimed it",
                    ended.seq,
                    "rows",
                )
        for connection in index.by_record.get(hold.record, ()):
            if _beside(index, leases, hold, connection):
                yield Violation(
                    f"no request for record {hold.record[1]} but by {hold.holder}, whose lease is running",
                    f"{connection.proc} connected to the remote",
                    connection.seq,
                    "wire",
                )
                return


def _beside(index: Index, leases: Leases, hold: Hold, connection: Connection) -> bool:
    """Whether a request came from somebody who cannot own the lease, its holder standing still with it."""
    look = index.look_before(connection.seq)
    if look is None or not hold.first.seq <= look.seq <= hold.last.seq or connection.proc == hold.holder:
        return False
    still = leases.stands(hold, look.seq, connection.seq) is not None
    return still and not leases.over_within(hold, look.seq, connection.seq)


def _shared(index: Index, leases: Leases, hold: Hold) -> Iterator[str]:
    """A pass beside a request that is under way, and one that has seen the row before it was claimed."""
    sent = [c for c in index.by_record.get(hold.record, ()) if c.proc == hold.holder and c.read]
    for pass_ in _passes(index, hold):
        moment = leases.moment(hold, pass_.seq)
        for connection in sent:
            within = connection.seq < pass_.seq and pass_.until < connection.end_seq
            if within and pass_.cmd == "push.work" and moment in ("inside", "nearly-over"):
                where = "contract" if index.contract_at(connection) else "at-remote"
                yield where if moment == "inside" else f"{where}-{moment}"
    for late in index.commands:
        behind = late.seq < hold.first.seq < late.until and late.proc != hold.holder
        if not behind or late.cmd not in ("push.work", "push.trigger") or late.outcome != "done":
            continue
        found = index.look_before(late.until)
        shown = found is not None and hold.first.seq <= found.seq <= hold.last.seq
        still = leases.stands(hold, hold.first.seq, late.until) == "paused"
        if shown and still and leases.moment(hold, late.until) == "inside":
            yield "race"
