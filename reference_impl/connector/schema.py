"""The tables of the connector runtime; domains, occupancy, edges and the status log come from the lifecycle files."""

from __future__ import annotations

from collections.abc import Mapping

from statemachines import sql
from statemachines.model import Lifecycle


def statements(lifecycles: Mapping[str, Lifecycle]) -> tuple[str, ...]:
    """The DDL of a fresh store, in order."""
    attempt, link = lifecycles["create_attempt"], lifecycles["remote_link"]
    return (
        """CREATE TABLE records (
            object TEXT NOT NULL, id TEXT NOT NULL, deleted INTEGER NOT NULL DEFAULT 0,
            locked INTEGER NOT NULL DEFAULT 0, fields TEXT NOT NULL, PRIMARY KEY (object, id)
        ) STRICT""",
        f"""CREATE TABLE attempts (
            attempt TEXT PRIMARY KEY, link_key TEXT NOT NULL, object TEXT NOT NULL, record TEXT NOT NULL,
            owner_key TEXT NOT NULL, action_slot TEXT NOT NULL, destination_slot TEXT NOT NULL, state TEXT NOT NULL,
            lane TEXT NOT NULL DEFAULT 'configured', ordinal INTEGER NOT NULL, claim TEXT, worker TEXT,
            lease_expires_at INTEGER, io_started_at INTEGER, sends INTEGER NOT NULL DEFAULT 0,
            idempotency_key TEXT NOT NULL UNIQUE, path TEXT NOT NULL, body TEXT NOT NULL, associations TEXT NOT NULL,
            authority TEXT NOT NULL, frozen TEXT NOT NULL, names TEXT NOT NULL, contract TEXT NOT NULL, mirror TEXT,
            scope TEXT NOT NULL, response_status INTEGER, response_digest TEXT, remote_id TEXT, canonical_id TEXT,
            late_remote_id TEXT, mirror_tries INTEGER NOT NULL DEFAULT 0, reason TEXT,
            CHECK ({sql.state_domain(attempt)})
        ) STRICT""",
        # One attempt that occupies a link key (Attempt Key): active, or terminal and not superseded.
        f"CREATE UNIQUE INDEX attempts_occupancy ON attempts (link_key) WHERE {sql.occupying(attempt)}",
        f"""CREATE TABLE links (
            link TEXT PRIMARY KEY, link_key TEXT NOT NULL, object TEXT NOT NULL, record TEXT NOT NULL,
            owner_key TEXT NOT NULL, action_slot TEXT NOT NULL, destination_slot TEXT NOT NULL, scope TEXT NOT NULL,
            remote_id TEXT NOT NULL, canonical_id TEXT NOT NULL, state TEXT NOT NULL, attempt TEXT NOT NULL,
            mirror TEXT NOT NULL, created_install TEXT NOT NULL, validated_install TEXT NOT NULL, names TEXT NOT NULL,
            CHECK ({sql.state_domain(link)})
        ) STRICT""",
        f"CREATE UNIQUE INDEX links_key ON links (link_key) WHERE {sql.occupying(link)}",
        # One remote locator, one link (Link Key, secondary uniqueness); names are no part of the scope.
        "CREATE UNIQUE INDEX links_locator ON links (owner_key, destination_slot, scope, canonical_id)"
        f" WHERE {sql.occupying(link)}",
        """CREATE TABLE receipts (
            operation TEXT NOT NULL, link_key TEXT NOT NULL, manifest_digest TEXT NOT NULL,
            PRIMARY KEY (operation, link_key)
        ) STRICT""",
        """CREATE TABLE acts (
            seq INTEGER PRIMARY KEY, act TEXT NOT NULL, link_key TEXT NOT NULL, by TEXT NOT NULL, evidence TEXT NOT NULL
        ) STRICT""",
        sql.STATUS_LOG_DDL,
        *sql.guard_triggers(attempt, "attempts", "attempt"),
        *sql.guard_triggers(link, "links", "link"),
        *sql.log_triggers(attempt, "attempts", "attempt"),
        *sql.log_triggers(link, "links", "link"),
    )
