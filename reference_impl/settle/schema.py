"""The tables of the settle lanes; domains, edges and the status log come from the lifecycle files."""

from __future__ import annotations

from collections.abc import Mapping

from statemachines import sql
from statemachines.model import Lifecycle


def statements(lifecycles: Mapping[str, Lifecycle]) -> tuple[str, ...]:
    """The DDL of a fresh store, in order."""
    event, item = lifecycles["lane_event"], lifecycles["work_item"]
    return (
        f"""CREATE TABLE events (
            event INTEGER PRIMARY KEY, route TEXT NOT NULL, source TEXT NOT NULL, state TEXT NOT NULL,
            ordinal INTEGER NOT NULL, created_at INTEGER NOT NULL, sequence INTEGER NOT NULL, delivery TEXT NOT NULL,
            not_before INTEGER, attempts INTEGER NOT NULL DEFAULT 0, token TEXT, worker TEXT, lease_expires_at INTEGER,
            error TEXT, replayed_by INTEGER REFERENCES events (event), payload TEXT NOT NULL,
            CHECK ({sql.state_domain(event)})
        ) STRICT""",
        # A delivered row is one fact on each route that takes it, whatever its settle time (SETTLE-031, SETTLE-044).
        "CREATE UNIQUE INDEX events_idempotency ON events (delivery, sequence, route)",
        "CREATE INDEX events_lane ON events (route, source)",
        f"""CREATE TABLE work_items (
            item INTEGER PRIMARY KEY, event INTEGER NOT NULL UNIQUE REFERENCES events (event), state TEXT NOT NULL,
            run_after INTEGER, served INTEGER REFERENCES events (event), CHECK ({sql.state_domain(item)})
        ) STRICT""",
        sql.STATUS_LOG_DDL,
        *sql.guard_triggers(event, "events", "event"),
        *sql.guard_triggers(item, "work_items", "item"),
        *sql.log_triggers(event, "events", "event"),
        *sql.log_triggers(item, "work_items", "item"),
    )
