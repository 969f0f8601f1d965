"""The ledger: Event and WorkItem move together, as compare-and-set inside a given transaction (SETTLE-043)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reference_impl.settle.model import EVENT_SQL, Event
from reference_impl.store import Store, Transaction
from statemachines.model import Lifecycle

#: Any token, or none: for moves that are fenced by something else.
ANY: Final = object()
#: The lease identity of a row that nobody holds.
FREE: Final[Mapping[str, Any]] = {"token": None, "worker": None, "lease_expires_at": None}
Moves = Mapping[str, tuple[tuple[str, ...], str]]


class Ledger:
    """Reads and moves over the tables of :mod:`reference_impl.settle.schema`."""

    def __init__(self, store: Store, lifecycles: Mapping[str, Lifecycle]) -> None:
        self.store = store
        event = lifecycles["lane_event"]
        self._moves = _MOVES.setdefault(id(event), (event, _moves(event)))[1]

    def lane(self, tx: Transaction, route: str, source: str) -> list[Event]:
        """Every Event of a lane, as of this transaction."""
        sql = f"{EVENT_SQL} WHERE e.route = ? AND e.source = ? ORDER BY e.event"
        return [Event.from_row(row) for row in tx.query(sql, (route, source))]

    def due_lanes(self, step: str, now_ms: int) -> list[tuple[str, str]]:
        """(route, source) of the lanes with due rows, the one with the oldest row first."""
        sql = (
            "SELECT route, source FROM events WHERE state = 'pending' AND (not_before IS NULL OR not_before <= ?)"
            " GROUP BY route, source ORDER BY MIN(event)"
        )
        return [(row[0], row[1]) for row in self.store.read(step, sql, (now_ms,))]

    def lane_of(self, step: str, event: int) -> list[tuple[str, str]]:
        """(route, source) of one Event, or nothing."""
        rows = self.store.read(step, "SELECT route, source FROM events WHERE event = ?", (event,))
        return [(row[0], row[1]) for row in rows]

    def open_until(self, tx: Transaction, route: str, source: str, now_ms: int) -> int | None:
        """The earliest settle timestamp of a lane that is still open: on a pending row that was never attempted."""
        sql = (
            "SELECT MIN(not_before) FROM events WHERE route = ? AND source = ? AND state = 'pending' AND attempts = 0"
            " AND not_before > ?"
        )
        found = tx.query(sql, (route, source, now_ms))[0][0]
        return None if found is None else int(found)

    def next_ordinal(self, tx: Transaction) -> int:
        """The next number of the one rising series of both paths (ORDER-026, ORDER-027)."""
        return int(tx.query("SELECT COALESCE(MAX(ordinal), 0) + 1 FROM events")[0][0])

    def next_event(self, tx: Transaction) -> int:
        """The next Id; rows are never removed."""
        return int(tx.query("SELECT COALESCE(MAX(event), 0) + 1 FROM events")[0][0])

    def insert(self, tx: Transaction, columns: Mapping[str, Any]) -> None:
        """Store an Event and its WorkItem, due at the same moment (SETTLE-018 to SETTLE-020)."""
        marks = ", ".join("?" for _ in columns)
        tx.execute(f"INSERT INTO events ({', '.join(columns)}) VALUES ({marks})", tuple(columns.values()))
        self.insert_item(tx, int(columns["event"]), str(columns["state"]), columns["not_before"])

    def insert_item(self, tx: Transaction, event: int, state: str, run_after: int | None) -> None:
        """Store the WorkItem of an Event."""
        tx.execute("INSERT INTO work_items (event, state, run_after) VALUES (?, ?, ?)", (event, state, run_after))

    def move(
        self,
        tx: Transaction,
        event: int,
        trigger: str,
        *,
        held_by: object = ANY,
        item: Mapping[str, Any],
        **values: Any,
    ) -> bool:
        """Fire a trigger of ``lane_event`` and take its WorkItem along; False when nothing was changed.

        ``held_by`` is the token that must be on the row; ``item`` are further columns of the WorkItem.
        """
        sources, dest = self._moves[trigger]
        fence, params = ("", ()) if held_by is ANY else (" AND token IS ?", (held_by,))
        sets = {"state": dest, **values}
        sql = (
            f"UPDATE events SET {', '.join(f'{name} = ?' for name in sets)}"
            f" WHERE event = ? AND state IN ({', '.join(repr(s) for s in sources)}){fence}"
        )
        if tx.execute(sql, (*sets.values(), event, *params)) != 1:
            return False
        self.move_item(tx, event, dest, item)
        return True

    def move_item(self, tx: Transaction, event: int, dest: str, item: Mapping[str, Any]) -> None:
        """Take the WorkItem of an Event to the same state."""
        sets = {"state": dest, **item}
        names = ", ".join(f"{name} = ?" for name in sets)
        tx.execute(f"UPDATE work_items SET {names} WHERE event = ?", (*sets.values(), event))

    def serve(self, tx: Transaction, event: int, head: int) -> None:
        """Record on a row that is collapsed already that it serves another head now."""
        tx.execute("UPDATE work_items SET served = ? WHERE event = ? AND state = 'skipped'", (head, event))


#: Made once for each lifecycle object: stores are opened some thousand times in a run.
_MOVES: dict[int, tuple[Lifecycle, Moves]] = {}


def _moves(lifecycle: Lifecycle) -> Moves:
    """Trigger -> (sources, destination)."""
    found: dict[str, tuple[tuple[str, ...], str]] = {}
    for t in lifecycle.transitions:
        if t.source is not None:
            found[t.trigger] = ((*found.get(t.trigger, ((), ""))[0], t.source), t.dest)
    return found
