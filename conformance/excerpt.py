"""What a run record says of the specification, so that every report is a function of the record alone.

An excerpt: the lifecycles that the rows of the families follow, and the tables of their documents.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from conformance.rows import living
from statemachines.model import Lifecycle, Table
from statemachines.spec import Spec


def lifecycles(spec: Spec, families: Iterable[str]) -> list[dict[str, Any]]:
    """The lifecycles that rows of these families follow, with their states in order, their edges and triggers."""
    names = dict.fromkeys(entity for family in families for _, _, entity in living(family))
    return [_lifecycle(spec.lifecycles[name]) for name in names if name in spec.lifecycles]


def _lifecycle(lc: Lifecycle) -> dict[str, Any]:
    edges: dict[tuple[str | None, str], list[str]] = {}
    for transition in lc.transitions:
        triggers = edges.setdefault((transition.source, transition.dest), [])
        if transition.trigger not in triggers:
            triggers.append(transition.trigger)
    return {
        "id": lc.id,
        "title": lc.title,
        "states": [{"name": s.name, "meaning": s.meaning, "terminal": s.terminal} for s in lc.states.values()],
        "edges": [{"from": source, "to": dest, "triggers": triggers} for (source, dest), triggers in edges.items()],
    }


def tables(spec: Spec, families: Iterable[str], sources: Iterable[str]) -> list[dict[str, Any]]:
    """The decision tables of these documents, and the order of checks of these families."""
    wanted = set(sources)
    orders = {spec.commands[family].order_of_checks for family in families if family in spec.commands}
    return [
        _table(table)
        for table in spec.tables.values()
        if table.source in wanted and (table.kind == "decision" or table.id in orders)
    ]


def _table(table: Table) -> dict[str, Any]:
    return {
        "id": table.id,
        "title": table.title,
        "rows": [
            {
                "id": row.id,
                "when": {name: [_text(v) for v in values] for name, values in row.when.items()},
                "then": {name: _text(v) for name, v in row.then.items() if name not in ("id", "source_rows", "where")},
            }
            for row in table.rows
        ],
    }


def _text(value: object) -> str:
    """A value of a table as people read it."""
    if value is None:
        return "—"
    return str(value).lower() if isinstance(value, bool) else str(value)
