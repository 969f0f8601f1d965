"""SQL for SQLite, generated from a lifecycle: the domain of a state column, its guard and its log.

The database thereby refuses what the specification forbids, whatever the code above it does. SQLite runs the
delete triggers of `INSERT OR REPLACE` only with `PRAGMA recursive_triggers = ON`; set it on each connection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

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
    """Triggers that abort a move which is no edge of the lifecycle: one for each kind of statement, as short as can be.

    They refuse: an insert in a state that no creation leads to; an insert over a row with the same id; a
    change of state along no edge; writing a state over itself where a `never` names that; a change of the
    id; and removal of a row where a `never` names it (`dest: null`). Raises ValueError for a name that is
    no plain SQL name.
    """
    # Every connection reads all of this anew, and compiles it into each statement on the table. So moves are looked up
    # in one list, and one sentence serves all: before SQLite 3.47 the message of RAISE has to be a literal.
    ident, state = _name(id_column), _name(state_column)
    created = sorted(dest for source, dest in lc.edges if source is None)
    moves = sorted(f"{source}>{dest}" for source, dest in lc.edges if source is not None)
    # Every other state may be written over itself: nothing changes then.
    same = sorted(
        f"{name}>{name}" for name in lc.states if (name, name) not in lc.forbidden and f"{name}>{name}" not in moves
    )
    kept = [name for name in lc.states if (name, None) in lc.forbidden]
    found = [
        _trigger(
            f"{table}_guard_insert BEFORE INSERT ON {_name(table)}",
            {
                f"(NEW.{state} IN ({_texts(created)})) IS NOT TRUE": f"{lc.id}: a row begins as {' or '.join(created)}",
                f"EXISTS (SELECT 1 FROM {table} WHERE {ident} = NEW.{ident})": f"{lc.id}: a row with this id exists",
            },
        ),
        _trigger(
            f"{table}_guard_update BEFORE UPDATE OF {ident}, {state} ON {table}",
            {
                f"OLD.{ident} IS NOT NEW.{ident}": f"{lc.id}: the id of a row is fixed",
                f"(OLD.{state} || '>' || NEW.{state} IN ({_texts((*moves, *same))})) IS NOT TRUE": (
                    f"{lc.id}: no edge leads from this state to that one"
                ),
            },
        ),
    ]
    if kept:
        why = {f"OLD.{state} IN ({_texts(kept)})": f"{lc.id}: a row in {', '.join(kept)} is never removed"}
        found.append(_trigger(f"{table}_guard_delete BEFORE DELETE ON {table}", why))
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


def _trigger(head: str, refusals: Mapping[str, str]) -> str:
    """A trigger that refuses with the message of the first condition that holds."""
    cases = " ".join(f"WHEN {condition} THEN RAISE(ABORT, {_text(why)})" for condition, why in refusals.items())
    return f"CREATE TRIGGER {head} BEGIN SELECT CASE {cases} END; END"


def _name(word: str) -> str:
    if not _NAME.fullmatch(word):
        raise ValueError(f"{word!r} is no plain SQL name; use letters, digits and underscores")
    return word


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _texts(values: Iterable[str]) -> str:
    return ", ".join(_text(value) for value in values)
