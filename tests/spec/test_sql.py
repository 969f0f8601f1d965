"""The database refuses every move that the lifecycle does not have, and logs every move that it has."""

from __future__ import annotations

import sqlite3
from itertools import product

import pytest

from statemachines import sql
from statemachines.model import Lifecycle
from statemachines.spec import load

LIFECYCLES = load().lifecycles


def database(lc: Lifecycle, *, guarded: bool = True) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("PRAGMA recursive_triggers = ON")
    connection.execute(sql.STATUS_LOG_DDL)
    domain = sql.state_domain(lc)
    connection.execute(f"CREATE TABLE t (id TEXT PRIMARY KEY, state TEXT CHECK ({domain}), n INTEGER) STRICT")
    for trigger in sql.log_triggers(lc, "t", "id") + (sql.guard_triggers(lc, "t", "id") if guarded else ()):
        connection.execute(trigger)
    return connection


def drive(lc: Lifecycle, connection: sqlite3.Connection, state: str) -> None:
    """Bring row 'a' into `state` along edges only."""
    paths: dict[str, list[str]] = {dest: [dest] for source, dest in lc.edges if source is None}
    while state not in paths:
        paths |= {d: [*paths[s], d] for s, d in lc.edges if s in paths and d not in paths}
    first, *rest = paths[state]
    connection.execute("INSERT INTO t VALUES ('a', ?, 0)", (first,))
    for step in rest:
        connection.execute("UPDATE t SET state = ? WHERE id = 'a'", (step,))


@pytest.mark.parametrize("name", LIFECYCLES)
def test_exactly_the_edges_pass(name: str) -> None:
    lc = LIFECYCLES[name]
    for source, dest in product(lc.states, repeat=2):
        if source == dest:
            continue
        connection = database(lc)
        drive(lc, connection, source)
        if (source, dest) in lc.edges:
            connection.execute("UPDATE t SET state = ?", (dest,))
        else:
            with pytest.raises(sqlite3.IntegrityError, match=f"{name}: no edge leads"):
                connection.execute("UPDATE t SET state = ?", (dest,))


@pytest.mark.parametrize("name", LIFECYCLES)
def test_rows_begin_where_a_creation_leads(name: str) -> None:
    lc = LIFECYCLES[name]
    for state in lc.states:
        connection = database(lc)
        if (None, state) in lc.edges:
            connection.execute("INSERT INTO t VALUES ('a', ?, 0)", (state,))
        else:
            with pytest.raises(sqlite3.IntegrityError, match="a row begins as"):
                connection.execute("INSERT INTO t VALUES ('a', ?, 0)", (state,))


def test_a_state_outside_the_domain_or_null_is_refused() -> None:
    lc = LIFECYCLES["mutation_attempt"]
    for state in ("prepared", "", None):
        with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
            database(lc, guarded=False).execute("INSERT INTO t VALUES ('a', ?, 0)", (state,))
        with pytest.raises(sqlite3.IntegrityError):
            database(lc).execute("INSERT INTO t VALUES ('a', ?, 0)", (state,))


def test_the_gate_is_not_entered_twice_but_other_columns_may_change() -> None:
    lc = LIFECYCLES["mutation_attempt"]
    connection = database(lc)
    drive(lc, connection, "Dispatching")
    connection.execute("UPDATE t SET n = 1")
    with pytest.raises(sqlite3.IntegrityError, match="no edge leads"):
        connection.execute("UPDATE t SET state = 'Dispatching'")


def test_a_row_cannot_be_replaced_or_renamed() -> None:
    lc = LIFECYCLES["mutation_attempt"]
    connection = database(lc)
    drive(lc, connection, "Completed")
    with pytest.raises(sqlite3.IntegrityError, match="a row with this id exists"):
        connection.execute("INSERT OR REPLACE INTO t VALUES ('a', 'Prepared', 0)")
    with pytest.raises(sqlite3.IntegrityError, match="the id of a row is fixed"):
        connection.execute("UPDATE t SET id = 'b'")


@pytest.mark.parametrize(("state", "kept"), [("Pending", True), ("Quarantined", True), ("Expired", False)])
def test_unresolved_reservations_are_never_removed(state: str, kept: bool) -> None:
    lc = LIFECYCLES["key_reservation"]
    connection = database(lc)
    drive(lc, connection, state)
    if kept:
        with pytest.raises(sqlite3.IntegrityError, match="is never removed"):
            connection.execute("DELETE FROM t")
    else:
        connection.execute("DELETE FROM t")
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_the_log_holds_every_change_in_order() -> None:
    lc = LIFECYCLES["key_reservation"]
    connection = database(lc)
    drive(lc, connection, "Expired")
    connection.execute("UPDATE t SET n = 7")
    connection.execute("DELETE FROM t")
    log = "SELECT entity, id, from_state, to_state FROM status_log ORDER BY seq"
    assert connection.execute(log).fetchall() == [
        ("key_reservation", "a", None, "Pending"),
        ("key_reservation", "a", "Pending", "Replayable"),
        ("key_reservation", "a", "Replayable", "Expired"),
        ("key_reservation", "a", "Expired", None),
    ]


def test_a_rolled_back_change_leaves_no_log() -> None:
    lc = LIFECYCLES["mutation_attempt"]
    connection = database(lc)
    drive(lc, connection, "Prepared")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE t SET state = 'Dispatching'")
    connection.execute("ROLLBACK")
    assert connection.execute("SELECT count(*) FROM status_log").fetchone() == (1,)


def test_only_occupying_states_hold_the_slot() -> None:
    lc = LIFECYCLES["key_reservation"]
    connection = database(lc)
    connection.execute(f"CREATE UNIQUE INDEX live ON t (n) WHERE {sql.occupying(lc)}")
    drive(lc, connection, "Expired")
    connection.execute("INSERT INTO t VALUES ('b', 'Pending', 0)")
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        connection.execute("INSERT INTO t VALUES ('c', 'Pending', 0)")


@pytest.mark.parametrize("word", ["a b", "t; DROP TABLE t", "", "1t", '"t"'])
def test_a_strange_name_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="no plain SQL name"):
        sql.guard_triggers(LIFECYCLES["mutation_attempt"], word, "id")
