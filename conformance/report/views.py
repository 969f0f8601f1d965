"""The lifecycles and tables of a run record, with what the run took of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.moves import ARROW
from conformance.verdict import Tally


@dataclass(frozen=True, slots=True)
class StateView:
    """A state of a lifecycle as the header of the record names it."""

    name: str
    meaning: str
    terminal: bool


@dataclass(frozen=True, slots=True)
class EdgeView:
    """An edge of a lifecycle (``source`` None creates the row), its triggers, and how often it was taken."""

    source: str | None
    dest: str
    triggers: tuple[str, ...]
    taken: int


@dataclass(frozen=True, slots=True)
class LifecycleView:
    """A lifecycle with the moves that the run took.

    ``strange`` are moves that are no edge: rows that a script loaded or removed, two changes between two looks, or what
    a violation did.
    """

    id: str
    title: str
    states: tuple[StateView, ...]
    edges: tuple[EdgeView, ...]
    strange: tuple[tuple[str, str, int], ...]

    @property
    def taken(self) -> int:
        """How many of the edges were taken at least once."""
        return sum(edge.taken > 0 for edge in self.edges)


@dataclass(frozen=True, slots=True)
class RowView:
    """A row of a table; ``times`` is None where nothing looks for it."""

    id: str
    when: Mapping[str, tuple[str, ...]]
    then: Mapping[str, str]
    times: int | None


@dataclass(frozen=True, slots=True)
class TableView:
    """A table with how often each of its rows was exercised."""

    id: str
    title: str
    rows: tuple[RowView, ...]

    @property
    def exercised(self) -> int:
        """How many rows were exercised at least once."""
        return sum(bool(row.times) for row in self.rows)


def lifecycle_views(header: Mapping[str, Any], tally: Tally) -> tuple[LifecycleView, ...]:
    """The lifecycles of the header with the moves of the tally; none in records of earlier versions."""
    return tuple(_lifecycle(lc, tally.transitions.get(lc["id"], {})) for lc in header.get("lifecycles", ()))


def _lifecycle(lc: Mapping[str, Any], taken: Mapping[str, int]) -> LifecycleView:
    edges = tuple(
        EdgeView(e["from"], e["to"], tuple(e["triggers"]), taken.get(f"{e['from'] or ''}{ARROW}{e['to']}", 0))
        for e in lc["edges"]
    )
    known = {f"{edge.source or ''}{ARROW}{edge.dest}" for edge in edges}
    strange = tuple(
        (source, dest, count)
        for move, count in sorted(taken.items())
        for source, _, dest in [move.partition(ARROW)]
        if move not in known
    )
    states = tuple(StateView(s["name"], s["meaning"], bool(s["terminal"])) for s in lc["states"])
    return LifecycleView(lc["id"], lc["title"], states, edges, strange)


def table_views(header: Mapping[str, Any], plans: Iterable[Mapping[str, Any]], tally: Tally) -> tuple[TableView, ...]:
    """The tables of the header with counts; none in records of earlier versions.

    A family may search each history for the rows of a table; its plan lists those that are expected.
    """
    expected: dict[str, set[str]] = {}
    for plan in plans:
        for table, rows in plan["tables"].items():
            expected.setdefault(table, set()).update(rows)
    return tuple(_table(table, expected.get(table["id"], set()), tally) for table in header.get("tables", ()))


def _table(table: Mapping[str, Any], expected: set[str], tally: Tally) -> TableView:
    rows = []
    for row in table["rows"]:
        counted = tally.tables.get(table["id"], {}).get(row["id"], 0)
        times = counted if counted or row["id"] in expected else None
        when = {name: tuple(values) for name, values in row["when"].items()}
        rows.append(RowView(row["id"], when, dict(row["then"]), times))
    return TableView(table["id"], table["title"], tuple(rows))
