"""A work queue in one SQLite table: deliveries come in, workers claim lane by lane, a Flow gets what was settled.

Plain functions over a connection; whoever calls them says what time it is (`now`, wall time in ms since 1970). A lane
is one source on one route. Every change is one `BEGIN IMMEDIATE` transaction, so that two processes never act on the
same reading of a lane. One row is both the Event and its WorkItem, so that the two cannot disagree.
"""

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lane import Row, generation, head_of, replay_order

# mode -> (waits for the window, coalesces, hands over every payload)
MODES = {
    "each": (False, False, True),
    "latest": (False, True, False),
    "full_record": (False, True, False),
    "full_record_preserve": (False, True, True),
    "settled": (True, True, True),
}
TAKES_NO_FILTER = {"full_record", "full_record_preserve", "settled"}

SCHEMA = """
CREATE TABLE IF NOT EXISTS queue (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    route TEXT NOT NULL, source TEXT NOT NULL, payload TEXT NOT NULL,
    delivery TEXT NOT NULL, sequence INTEGER NOT NULL, ordinal INTEGER NOT NULL, created_at INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending', not_before INTEGER, attempts INTEGER NOT NULL DEFAULT 0,
    token TEXT, worker TEXT, lease_expires_at INTEGER, error TEXT,
    served INTEGER, replayed_by INTEGER,
    UNIQUE (delivery, sequence, route)
)
"""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the host was configured with; all durations in ms."""

    routes: dict[str, str]  # route -> mode
    kinds: dict[str, list[str]]  # kind -> the routes that take it
    settle_ms: int
    lease_ms: int
    budget: int
    backoff_ms: int


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to execute one head, as long as `token` is the row's present one."""

    head: int
    token: str


def open_queue(path: str) -> sqlite3.Connection:
    """The queue in this file, made where it is not there yet. Killed processes leave nothing that blocks it."""
    db = sqlite3.connect(path, isolation_level=None, timeout=5)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute(SCHEMA)
    return db


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing, and nobody else writes meanwhile."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def deliver(
    db: sqlite3.Connection, settings: Settings, delivery: str, events: list[dict[str, str]], now: int, *, bulk: bool
) -> int:
    """Store a delivery, all at once or row by row; says how many rows are new."""
    rows = [
        (route, event["source"], event["payload"], delivery, number)
        for number, event in enumerate(events)
        for route in settings.kinds.get(event["kind"], [])
    ]
    stored = 0
    for batch in [rows] if bulk else [[row] for row in rows]:
        with transaction(db):
            stored += sum(_store(db, settings, row, now) for row in batch)
    return stored


def _store(db: sqlite3.Connection, settings: Settings, row: tuple[str, str, str, str, int], now: int) -> int:
    route, source, _, _, _ = row
    not_before = None
    if MODES[settings.routes[route]][0]:
        not_before = _open_window(db, route, source, now) or now + settings.settle_ms
    return db.execute(
        "INSERT INTO queue (route, source, payload, delivery, sequence, ordinal, created_at, not_before)"
        " SELECT ?, ?, ?, ?, ?, (SELECT COALESCE(MAX(ordinal), 0) + 1 FROM queue), ?, ? WHERE true"
        " ON CONFLICT (delivery, sequence, route) DO NOTHING",
        (*row, now, not_before),
    ).rowcount


def _open_window(db: sqlite3.Connection, route: str, source: str, now: int) -> int | None:
    """The earliest settle time of the lane that has not passed; a backoff is none."""
    sql = (
        "SELECT MIN(not_before) FROM queue"
        " WHERE route = ? AND source = ? AND state = 'pending' AND attempts = 0 AND not_before > ?"
    )
    found: int | None = db.execute(sql, (route, source, now)).fetchone()[0]
    return found


def claim(
    db: sqlite3.Connection, settings: Settings, worker: str, now: int, *, trusted: bool, event: int | None = None
) -> Claim | None:
    """Take the head of some lane, or the named row where it can be a head, and collapse its generation into it."""
    with transaction(db):
        _take_back(db, settings, now, trusted=trusted)
        for rows in _lanes(db):
            head = head_of(rows, now, coalesces=MODES[settings.routes[rows[0].route]][1], wanted=event)
            if head is not None:
                return _start(db, settings, rows, head, worker, now)
    return None


def _lanes(db: sqlite3.Connection) -> list[list[Row]]:
    """All rows, lane by lane; the lane of the oldest row first."""
    lanes: dict[tuple[str, str], list[Row]] = {}
    for found in db.execute("SELECT * FROM queue ORDER BY id"):
        row = Row(**{name: found[name] for name in Row.__slots__})
        lanes.setdefault((row.route, row.source), []).append(row)
    return list(lanes.values())


def _start(db: sqlite3.Connection, settings: Settings, rows: list[Row], head: Row, worker: str, now: int) -> Claim:
    token = uuid.uuid4().hex
    db.execute(
        "UPDATE queue SET state = 'processing', token = ?, worker = ?, lease_expires_at = ?, attempts = attempts + 1"
        " WHERE id = ?",
        (token, worker, now + settings.lease_ms, head.id),
    )
    if MODES[settings.routes[head.route]][1]:
        members = [row.id for row in generation(rows, head) if row.id != head.id]
        db.executemany("UPDATE queue SET served = ? WHERE id = ?", [(head.id, member) for member in members])
        db.executemany(
            "UPDATE queue SET state = 'skipped', token = NULL, worker = NULL, lease_expires_at = NULL"
            " WHERE id = ? AND state = 'pending'",
            [(member,) for member in members],
        )
    return Claim(head.id, token)


def _take_back(db: sqlite3.Connection, settings: Settings, now: int, *, trusted: bool) -> int:
    """Claims whose lease is over go back to the queue, or are dead; without a clock to trust none is."""
    if not trusted:
        return 0
    return db.execute(
        "UPDATE queue SET state = CASE WHEN attempts >= ? THEN 'dead' ELSE 'pending' END, error = 'lease lost',"
        " token = NULL, worker = NULL, lease_expires_at = NULL WHERE state = 'processing' AND lease_expires_at <= ?",
        (settings.budget, now),
    ).rowcount


def recover(db: sqlite3.Connection, settings: Settings, now: int, *, trusted: bool) -> int:
    """What a reaper does: take lapsed claims back. Says how many."""
    with transaction(db):
        return _take_back(db, settings, now, trusted=trusted)


def read_input(db: sqlite3.Connection, settings: Settings, held: Claim) -> list[tuple[int, str]] | None:
    """What the Flow gets: (id, payload) in lane order; None where the claim is lost."""
    found = db.execute(
        "SELECT * FROM queue WHERE id = :head OR (served = :head AND state = 'skipped')", {"head": held.head}
    ).fetchall()
    rows = {r["id"]: Row(**{name: r[name] for name in Row.__slots__}) for r in found}
    head = rows[held.head]
    if head.state != "processing" or head.token != held.token:
        return None
    preserves = MODES[settings.routes[head.route]][2]
    payloads = {r["id"]: r["payload"] for r in found}
    return [(row.id, payloads[row.id]) for row in (replay_order(list(rows.values())) if preserves else [head])]


def finish(db: sqlite3.Connection, settings: Settings, held: Claim, outcome: str, now: int) -> bool:
    """Record the outcome of the Flow; False where the claim is lost, and then nothing is recorded."""
    values: dict[str, object] = {"head": held.head, "token": held.token, "now": now}
    if outcome == "success":
        change = "state = 'processed', error = NULL"
    elif outcome == "skip":
        change = "state = 'skipped', error = NULL"
    elif outcome == "fatal":
        change = "state = 'dead', error = 'fatal'"
    else:
        values |= {"budget": settings.budget, "again": now + settings.backoff_ms}
        change = (
            "state = CASE WHEN attempts >= :budget THEN 'dead' ELSE 'pending' END, error = 'retryable', token = NULL,"
            " not_before = CASE WHEN attempts >= :budget THEN not_before ELSE :again END"
        )
    sql = f"UPDATE queue SET {change}, worker = NULL, lease_expires_at = NULL"
    with transaction(db):
        done = db.execute(f"{sql} WHERE id = :head AND token = :token AND state = 'processing'", values)
    return done.rowcount == 1


def replay(db: sqlite3.Connection, event: int, now: int) -> int | None:
    """A fresh row for an ended one, due at once, once only; its id, or None where that is refused."""
    with transaction(db):
        original = db.execute(
            "SELECT * FROM queue WHERE id = ? AND replayed_by IS NULL AND (state IN ('processed', 'dead')"
            " OR (state = 'skipped' AND token IS NOT NULL AND error IS NULL))",
            (event,),
        ).fetchone()
        if original is None:
            return None
        fresh = db.execute(
            "INSERT INTO queue (route, source, payload, delivery, sequence, ordinal, created_at)"
            " SELECT ?, ?, ?, ?, 0, MAX(ordinal) + 1, ? FROM queue",
            (original["route"], original["source"], original["payload"], f"replay of {event}", now),
        ).lastrowid
        db.execute("UPDATE queue SET replayed_by = ? WHERE id = ?", (fresh, event))
    return fresh


def metrics(db: sqlite3.Connection, now: int) -> tuple[int, int | None]:
    """How many rows a worker could take by their time, and since when the oldest of them could be taken."""
    sql = (
        "SELECT COUNT(*), MIN(COALESCE(not_before, created_at)) FROM queue"
        " WHERE state = 'pending' AND (not_before IS NULL OR not_before <= ?)"
    )
    due, oldest = db.execute(sql, (now,)).fetchone()
    return due, oldest


def normalize(mode: str, *, has_filter: bool) -> str | None:
    """The mode of a route as it is stored, or None where it cannot go with a Flow execution filter."""
    return None if has_filter and mode in TAKES_NO_FILTER else mode
