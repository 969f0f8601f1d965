"""Recovery and stale writers (MUT-029, MUT-033)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import TERMINAL, Rows
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS

#: What a reservation that left Pending never becomes again; to expire, or to vanish as expired, is another matter.
_REOPENED = {"Quarantined": ("Pending", "Replayable"), "Replayable": ("Pending", "Quarantined")}
_CELLS = {"Indeterminate": "after-indeterminate", "Aborted": "after-aborted"}


@CHECKERS.checker("MUT-029", "suite", "answer", "rows")
def stale_writer_is_refused(index: Index) -> Iterator[Finding]:
    """A settled attempt keeps its state and time, and its reservation what it became, whoever wakes up and writes."""
    watch = _Watch()
    for rows in index.rows:
        yield from watch.look(rows)
    for move in index.moves:
        overwritten = move.source in TERMINAL and move.dest != move.source
        if overwritten and move.entity == "mutation_attempt" and move.id not in watch.reported:
            watch.reported.add(move.id)
            yield _changed("attempt", move.id, str(move.source), str(move.dest), move.seq)
    for attempt, (seq, state) in watch.settled.items():
        worker, cell = index.owner(attempt), _CELLS.get(state)
        if cell is None or worker is None or worker.outcome != "done" or not worker.seq < seq < worker.until:
            continue
        if any(c.seq < seq for c in index.during(worker, frozenset({"recover", "host.cancel"}))):
            yield Met(cell)


class _Watch:
    """What was settled, in one walk over the snapshots."""

    def __init__(self) -> None:
        self.settled: dict[str, tuple[int, str]] = {}
        self.reported: set[str] = set()
        self._times: dict[str, Any] = {}
        self._closed: dict[str, str] = {}
        self._seen: tuple[object, object] = (None, None)

    def look(self, rows: Rows) -> Iterator[Violation]:
        """One more snapshot; what did not change since the last is not looked at again."""
        if self._seen == (id(rows.attempts), id(rows.reservations)):
            return
        self._seen = (id(rows.attempts), id(rows.reservations))
        for attempt, row in rows.attempts.items():
            yield from self._attempt(attempt, row, rows.seq)
        for reservation, row in (rows.reservations or {}).items():
            before, state = self._closed.get(reservation), str(row.get("state"))
            if state in _REOPENED.get(before or "", ()) and reservation not in self.reported:
                self.reported.add(reservation)
                yield _changed("reservation", reservation, str(before), state, rows.seq)
            if state in _REOPENED:
                self._closed.setdefault(reservation, state)

    def _attempt(self, attempt: str, row: Mapping[str, Any], seq: int) -> Iterator[Violation]:
        before, state, time = self.settled.get(attempt), row.get("state"), row.get("settled_at")
        if before is None:
            if state in TERMINAL:
                self.settled[attempt] = (seq, str(state))
        elif attempt not in self.reported:
            stamped = self._times.get(attempt)
            if state != before[1]:
                self.reported.add(attempt)
                yield _changed("attempt", attempt, before[1], str(state), seq)
            elif stamped is not None and time is not None and time != stamped:
                self.reported.add(attempt)
                yield _changed("attempt", attempt, f"settled at {stamped}", f"settled at {time}", seq)
        if state in TERMINAL and time is not None:
            self._times.setdefault(attempt, time)


def _changed(kind: str, name: str, before: str, after: str, seq: int) -> Violation:
    return Violation(f"{kind} {name[-6:]} stays {before} once it is settled", f"its row became {after}", seq, "rows")


@CHECKERS.checker("MUT-033", "suite", "wire", "answer", "rows")
def recovery_never_sends(index: Index) -> Iterator[Finding]:
    """Recovery over Prepared and Dispatching rows is never seen at the remote, nor is a process without a command.

    A request that an earlier invocation of the same process may still owe is no recovery (late-gate-acknowledgement).
    """
    kills = iter(index.kills)
    kill, killed = next(kills, None), set()
    for command in index.commands:
        if command.cmd != "recover":
            continue
        while kill is not None and kill.seq < command.seq:
            killed.add(kill.proc)
            kill = next(kills, None)
        rows = index.rows_before(command.seq)
        for attempt, row in (rows.attempts if rows else {}).items():
            worker = index.owner(attempt)
            if worker is not None and worker.proc in killed and row.get("state") in ("Prepared", "Dispatching"):
                yield Met(str(row["state"]).lower())
    for connection in index.connections:
        doing = connection.command
        if connection.sender is None and (doing is None or doing.cmd == "recover"):
            yield Violation(
                "no request from recovery",
                f"{connection.proc} connected to the remote during " + ("recover" if doing else "no command at all"),
                connection.seq,
                "wire",
            )
