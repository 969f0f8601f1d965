"""The retirement of key generations (RET-018)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import Command, Rows
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.keys import TICKS_MS
from conformance.checkers.mutation.registry import CHECKERS

_STALE = {"host.housekeep": "stale-housekeeper", "host.invoke": "stale-candidate"}


@CHECKERS.checker("RET-018", "suite", "answer", "rows")
def retirement_is_by_generation(index: Index) -> Iterator[Finding]:
    """A replacement generation is not retired by someone who meant its predecessor.

    To be retired is to become Expired or to vanish (reading row-deleted). A first generation is judged elsewhere.
    """
    book = _Book()
    for rows in index.rows:
        if rows.reservations is None or rows.reservations is book.seen:
            continue
        clock = index.clock_at(rows.seq)
        yield from book.look(rows, clock.wall_ms if clock else 0)
    for reservation, (seq, row) in book.replacements.items():
        yield from (Met(cell) for cell in _stale(index, book, reservation, seq, row))


class _Book:
    """The generations of every key, in one walk over the snapshots."""

    def __init__(self) -> None:
        self.seen: object = None
        #: Replacement -> where it was first seen, with its row; and the generation that it replaced.
        self.replacements: dict[str, tuple[int, Mapping[str, Any]]] = {}
        self.predecessor: dict[str, str] = {}
        self._newest: dict[tuple[Any, Any], str] = {}
        self._known: set[str] = set()
        self._gone: set[str] = set()
        self._live: dict[str, Mapping[str, Any]] = {}

    def look(self, rows: Rows, now: int) -> Iterator[Violation]:
        """One more snapshot, taken at ``now`` of the suite's clock."""
        held = rows.reservations or {}
        self.seen = rows.reservations
        for reservation, row in held.items():
            self._meet(reservation, row, rows.seq)
        # A generation that came and went between two snapshots shows as Expired from the start.
        lost = [(r, old) for r, old in self._live.items() if _retired(held.get(r))]
        lost += [(r, row) for r, row in held.items() if _retired(row) and r not in self._live]
        for reservation, old in lost:
            if reservation in self._gone:
                continue
            self._gone.add(reservation)
            due = old.get("replay_expires_at")
            early = not isinstance(due, int) or now + TICKS_MS < due
            if reservation in self.replacements and early:
                yield Violation(
                    f"generation {reservation[-6:]} untouched: only its predecessor was due",
                    f"it was retired while {old.get('state')}" if old.get("state") != "Expired" else "it was retired",
                    rows.seq,
                    "rows",
                )
        self._live = {r: row for r, row in held.items() if not _retired(row)}

    def _meet(self, reservation: str, row: Mapping[str, Any], seq: int) -> None:
        if reservation in self._known:
            return
        self._known.add(reservation)
        key = (row.get("namespace"), row.get("key"))
        if key in self._newest:
            self.replacements[reservation] = (seq, row)
            self.predecessor[reservation] = self._newest[key]
        self._newest[key] = reservation


def _retired(row: Mapping[str, Any] | None) -> bool:
    return row is None or row.get("state") == "Expired"


def _stale(index: Index, book: _Book, reservation: str, seq: int, row: Mapping[str, Any]) -> Iterator[str]:
    """The cells of those who were at work when a replacement appeared, and had begun while its predecessor lived."""
    rows = index.rows_before(seq + 1)
    for command in rows.at_work if rows else ():
        cell = _STALE.get(command.cmd)
        if cell is None or command.outcome != "done" or _made(index, command, row):
            continue
        if command.invokes and command.key != row.get("key"):
            continue
        before = index.rows_before(command.seq)
        old = (before.reservations or {}).get(book.predecessor[reservation]) if before else None
        if not _retired(old):
            yield cell


def _made(index: Index, command: Command, row: Mapping[str, Any]) -> bool:
    return command.invokes and row.get("attempt") in index.attempts_of(command)
