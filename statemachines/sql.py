"""SQL for SQLite, generated from a lifecycle: the domain of a state column, its guard and its log.

The database thereby refuses what the specification forbids, whatever the code above it does. SQLite runs the
delete triggers of `INSERT OR REPLACE` only with `PRAGMA recursive_triggers = ON`; set it on each connection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from statemachines.model import Lifecycle

STATUS_LOG_DDL = (
    "CREATE TABLE status_log (seq INTEGER PRIMARY KEY AUTOINCREMENT, entity TEXT, id TEXT, "
    "from_state TEXT, to_state TEXT) STRICT"
)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def state_domain(lc: Lifecycle, column: str = "state") -> str:
    """The CHECK expression of a state column; a null state fails it too."""
    return f"{_name(column)} IS NOT NULL AND {column} IN ({_texts(lc.states)})"


def occupying(lc: Lifecycle, column: str = "state") -> str:
    """The condition of a partial unique index: rows in a state that holds the slot (`occupies`)."""
    return f"{_name(column)} IN ({_texts(name for name, state in lc.states.items() if state.occupies)})"


def guard_triggers(lc: Lifecycle, table: str, id_column: str, state_column: str = "state") -> tuple[str, ...]:
    """Triggers that abort a move which is no edge of the lifecycle.

    They refuse: an insert in a state that no creation leads to; an insert over a row with the same id; a
    change of state along no edge; writing a state over itself where a `never` names that; a change of the
    id; and removal of a row where a `never` names it (`dest: null`). Raises ValueError for a name that is
    no plain SQL name.
    """
    ident, state = _name(id_column), _name(state_column)
    leads = {name: sorted({dest for start, dest in lc.edges if start == name}) for name in lc.states}
    created = sorted(dest for source, dest in lc.edges if source is None)
    moves = [
        f"(OLD.{state} = {_text(source)} AND NEW.{state} IN ({_texts(dests)}))"
        for source, dests in leads.items()
        if dests
    ]
    reasons = {
        source: f"{lc.id}: {source} may only become {', '.join(dests)}" if dests else f"{lc.id}: {source} is final"
        for source, dests in leads.items()
    }
    again = [name for name in lc.states if (name, name) in lc.forbidden and (name, name) not in lc.edges]
    kept = [name for name in lc.states if (name, None) in lc.forbidden]
    insert, update, delete = (
        f"BEFORE {event} ON {_name(table)}" for event in ("INSERT", f"UPDATE OF {state}", "DELETE")
    )
    found = [
        _trigger(
            f"{table}_guard_insert {insert}",
            f"(NEW.{state} IN ({_texts(created)})) IS NOT TRUE",
            _abort(f"{lc.id}: a row begins as {' or '.join(created)}"),
        ),
        _trigger(
            f"{table}_guard_replace {insert}",
            f"EXISTS (SELECT 1 FROM {table} WHERE {ident} = NEW.{ident})",
            _abort(f"{lc.id}: a row with this id exists"),
        ),
        _trigger(
            f"{table}_guard_update {update}",
            f"OLD.{state} IS NOT NEW.{state} AND ({' OR '.join(moves) or '0'}) IS NOT TRUE",
            # The message of RAISE must be a literal before SQLite 3.47, so each state has its own.
            f"CASE OLD.{state} "
            + " ".join(f"WHEN {_text(source)} THEN {_abort(why)}" for source, why in reasons.items())
            + f" ELSE {_abort(f'{lc.id}: the row is in no known state')} END",
        ),
        _trigger(
            f"{table}_guard_id BEFORE UPDATE OF {ident} ON {table}",
            f"OLD.{ident} IS NOT NEW.{ident}",
            _abort(f"{lc.id}: the id of a row is fixed"),
        ),
    ]
    if again:
        condition = f"OLD.{state} = NEW.{state} AND OLD.{state} IN ({_texts(again)})"
        why = _abort(f"{lc.id}: {', '.join(again)} cannot be written over itself")
        found.append(_trigger(f"{table}_guard_again {update}", condition, why))
    if kept:
        why = _abort(f"{lc.id}: a row in {', '.join(kept)} is never removed")
        found.append(_trigger(f"{table}_guard_delete {delete}", f"OLD.{state} IN ({_texts(kept)})", why))
    return tuple(found)


def log_triggers(
    lc: Lifecycle, table: str, id_column: str, log_table: str = "status_log", state_column: str = "state"
) -> tuple[str, ...]:
    """Triggers that append (entity, id, from_state, to_state) for every insert, state change and removal."""
    ident, state, log, name = (_name(word) for word in (id_column, state_column, log_table, table))
    insert = f"INSERT INTO {log} (entity, id, from_state, to_state) VALUES ({_text(lc.id)}, CAST("
    return (
        f"CREATE TRIGGER {name}_log_insert AFTER INSERT ON {name} BEGIN "
        f"{insert}NEW.{ident} AS TEXT), NULL, NEW.{state}); END",
        f"CREATE TRIGGER {name}_log_update AFTER UPDATE OF {state} ON {name} "
        f"WHEN OLD.{state} IS NOT NEW.{state} BEGIN "
        f"{insert}NEW.{ident} AS TEXT), OLD.{state}, NEW.{state}); END",
        f"CREATE TRIGGER {name}_log_delete AFTER DELETE ON {name} BEGIN "
        f"{insert}OLD.{ident} AS TEXT), OLD.{state}, NULL); END",
    )


def _trigger(head: str, condition: str, action: str) -> str:
    return f"CREATE TRIGGER {head} WHEN {condition} BEGIN SELECT {action}; END"


def _abort(message: str) -> str:
    return f"RAISE(ABORT, {_text(message)})"


def _name(word: str) -> str:
    if not _NAME.fullmatch(word):
        raise ValueError(f"{word!r} is no plain SQL name; use letters, digits and underscores")
    return word


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _texts(values: Iterable[str]) -> str:
    return ", ".join(_text(value) for value in values)
