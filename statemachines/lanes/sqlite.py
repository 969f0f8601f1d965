"""Reading B as one SQL statement, for a host whose rows live in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from statemachines.lanes.rows import Id, Row

_STATEMENT = """\
WITH arrived AS (           -- place by ingress; the number of zero rows so far is the gap; place by ordinal
  SELECT id, enqueue_ordinal > 0 AS stamped,
         row_number() OVER ingress AS arrival,
         sum(enqueue_ordinal = 0) OVER ingress AS gap,
         row_number() OVER (ORDER BY enqueue_ordinal, id) AS rank
  FROM {table}
  WINDOW ingress AS (ORDER BY created_date, delivery_sequence, id)
), floored AS (             -- the smallest rank of a stamped row in any later gap
  SELECT *, coalesce(min(CASE WHEN stamped THEN rank END) OVER later, {nothing}) AS floor
  FROM arrived
  WINDOW later AS (ORDER BY gap RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
)
SELECT id FROM floored
ORDER BY gap, stamped, rank > floor, CASE WHEN stamped AND rank < floor THEN rank ELSE arrival END
"""


def replay_statement(table: str = "lane") -> str:
    """The statement that selects the ids of `table` in the normative sequence.

    The table (or view) has the columns `id`, `enqueue_ordinal`, `created_date` and `delivery_sequence`,
    compared as SQLite compares them: store dates as numbers or as text of one fixed width in one zone.
    Needs SQLite 3.28 (2019).
    """
    quoted = '"' + table.replace('"', '""') + '"'
    return _STATEMENT.format(table=quoted, nothing=2**63 - 1)


def replay_in_sqlite(connection: sqlite3.Connection, rows: Iterable[Row]) -> list[Id]:
    """Put `rows` into a temporary table, replay them there, drop the table again.

    Ids, dates and delivery sequences must be integers, floats or texts; otherwise `sqlite3` raises its own
    error.
    """
    connection.execute("CREATE TEMP TABLE lane_replay (id, enqueue_ordinal, created_date, delivery_sequence)")
    try:
        connection.executemany(
            "INSERT INTO lane_replay VALUES (?, ?, ?, ?)",
            ((r.id, r.ordinal, r.created, r.sequence) for r in rows),
        )
        return [id_ for (id_,) in connection.execute(replay_statement("lane_replay"))]
    finally:
        connection.execute("DROP TABLE lane_replay")
