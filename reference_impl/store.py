"""The store kit: SQLite behind ports, so that every call can be paused, fail, lose its acknowledgement or crash.

WAL, ``synchronous=FULL``, foreign keys, STRICT tables and ``BEGIN IMMEDIATE``; a compare-and-set is an UPDATE whose
row count is checked (DESIGN section 8).
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conformance.kit import AckLost, Ports, Seam

Row = sqlite3.Row
Params = Sequence[Any]

#: WAL is a property of the file and set by :class:`Template`; these two belong to a connection.
_PRAGMAS = ("PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON")
#: How long a real process waits for another's short transaction, in ms. In process nobody ever waits.
BUSY_MS = 5000


class Transaction:
    """One open write transaction of a step; every statement is a port call."""

    def __init__(self, step: str, seam: Seam, conn: sqlite3.Connection) -> None:
        self._step = step
        self._seam = seam
        self._conn = conn

    def execute(self, sql: str, params: Params = ()) -> int:
        """Run one statement and return the number of rows that it changed."""
        self._seam.reach(self._step, "write")
        return self._conn.execute(sql, params).rowcount

    def query(self, sql: str, params: Params = ()) -> list[Row]:
        """Read inside the transaction."""
        self._seam.reach(self._step, "tx-read")
        return self._conn.execute(sql, params).fetchall()


class Store:
    """One connection of one actor to the database of a state directory."""

    def __init__(self, path: Path, ports: Ports) -> None:
        self._seam = ports.seam
        self._conn = connect(path)
        self._seen: tuple[tuple[int, int], Mapping[str, list[dict[str, Any]]]] | None = None
        ports.resources.append(self._conn.close)

    def read(self, step: str, sql: str, params: Params = ()) -> list[Row]:
        """Read outside of a transaction; raises StoreFailed when the read fails."""
        self._seam.reach(step, "read")
        return self._conn.execute(sql, params).fetchall()

    @contextmanager
    def transaction(self, step: str) -> Iterator[Transaction]:
        """One immediate transaction named after its step.

        Raises StoreFailed when it certainly did not commit, AckLost when nobody can tell.
        """
        self._seam.reach(step, "begin")
        self._conn.execute("BEGIN IMMEDIATE")
        try:
            yield Transaction(step, self._seam, self._conn)
            world = self._seam.reach(step, "commit")
        except Exception:
            self._conn.execute("ROLLBACK")
            raise
        self._conn.execute("ROLLBACK" if world == "rolled_back" else "COMMIT")
        if world is not None:
            raise AckLost(f"{step}: the acknowledgement was lost")
        self._seam.reach(step, "committed")

    def rows(self, queries: Mapping[str, str]) -> Mapping[str, list[dict[str, Any]]]:
        """All rows of several tables as of one moment, for ``snapshot``: the suite asks, so it is no port call.

        Nothing is read again while neither this connection nor another has committed anything.
        """
        version = (self._conn.execute("PRAGMA data_version").fetchone()[0], self._conn.total_changes)
        if self._seen is None or self._seen[0] != version:
            self._conn.execute("BEGIN")
            try:
                rows = {kind: [dict(row) for row in self._conn.execute(sql)] for kind, sql in queries.items()}
            finally:
                self._conn.execute("COMMIT")
            self._seen = (version, rows)
        return self._seen[1]


def connect(path: Path) -> sqlite3.Connection:
    """Open a database with the pragmas of the reference."""
    conn = sqlite3.connect(path, isolation_level=None, timeout=BUSY_MS / 1000, check_same_thread=False)
    conn.row_factory = sqlite3.Row
    for pragma in _PRAGMAS:
        conn.execute(pragma)
    return conn


class Template:
    """A database made once from a schema and written for every fresh state: under a millisecond instead of some ten.

    It is kept in memory, so that a killed process leaves no file behind and a forked one finds it ready.
    """

    def __init__(self, statements: Sequence[str]) -> None:
        self._statements = tuple(statements)
        self._image: bytes | None = None

    def create(self, path: Path) -> None:
        """Put a fresh database at ``path``."""
        path.write_bytes(self.image())

    def image(self) -> bytes:
        """The bytes of a fresh database, built at the first call."""
        if self._image is None:
            with tempfile.TemporaryDirectory(prefix="onceproof-template-") as folder:
                built = Path(folder) / "template.db"
                conn = sqlite3.connect(built, isolation_level=None)
                conn.execute("PRAGMA journal_mode=WAL")
                # Only the bytes are wanted: nothing here has to survive a crash.
                conn.execute("PRAGMA synchronous=OFF")
                conn.execute("BEGIN")
                for statement in self._statements:
                    conn.execute(statement)
                conn.execute("COMMIT")
                conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                conn.close()
                self._image = built.read_bytes()
        return self._image
