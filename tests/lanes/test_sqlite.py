"""Reading B as one SQL statement (its equality with `replay` is in `test_golden` and `test_properties`)."""

import random
import sqlite3

import pytest

from statemachines.lanes import Row, replay
from statemachines.lanes.sqlite import replay_in_sqlite, replay_statement
from tests.lanes.test_exhaustive import canonical


def test_every_kind_of_lane_up_to_five_rows() -> None:
    connection = sqlite3.connect(":memory:")
    for rows in canonical(5):
        assert replay_in_sqlite(connection, rows) == replay(rows)


def test_a_large_mixed_lane() -> None:
    chance = random.Random(3)
    rows = [Row(i, chance.choice((0, chance.randint(1, 900))), chance.randint(0, 900), i % 3) for i in range(2000)]
    assert replay_in_sqlite(sqlite3.connect(":memory:"), rows) == replay(rows)


def test_the_statement_reads_any_table_and_leaves_nothing_behind() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE "odd ""name" (id, enqueue_ordinal, created_date, delivery_sequence)')
    connection.execute('INSERT INTO "odd ""name" VALUES (1, 2, 0, 0), (2, 1, 1, 0)')
    assert list(connection.execute(replay_statement('odd "name'))) == [(2,), (1,)]
    replay_in_sqlite(connection, [])
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        connection.execute("SELECT * FROM lane_replay")
