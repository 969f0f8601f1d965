"""The tables of the mutation host; domains, edges and the status log come from the lifecycle files."""

from __future__ import annotations

from collections.abc import Mapping

from statemachines import sql
from statemachines.model import Lifecycle


def statements(lifecycles: Mapping[str, Lifecycle]) -> tuple[str, ...]:
    """The DDL of a fresh ledger, in order."""
    attempt, reservation = lifecycles["mutation_attempt"], lifecycles["key_reservation"]
    approval = lifecycles["approval"]
    return (
        f"""CREATE TABLE attempts (
            attempt TEXT PRIMARY KEY, request_id TEXT NOT NULL, operation TEXT NOT NULL, connection TEXT NOT NULL,
            caller TEXT NOT NULL, key TEXT, input_digest TEXT NOT NULL, worker TEXT NOT NULL, state TEXT NOT NULL,
            result TEXT, cause TEXT, settled_at INTEGER, approval TEXT NOT NULL, approval_reference TEXT,
            CHECK ({sql.state_domain(attempt)})
        ) STRICT""",
        f"""CREATE TABLE reservations (
            reservation TEXT PRIMARY KEY, namespace TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL,
            attempt TEXT NOT NULL UNIQUE REFERENCES attempts (attempt), state TEXT NOT NULL,
            settled_at INTEGER, replay_expires_at INTEGER, CHECK ({sql.state_domain(reservation)})
        ) STRICT""",
        # One live generation for a namespace and key (mutation-profile 5.1); retired ones may pile up beside it.
        "CREATE UNIQUE INDEX reservations_live ON reservations (namespace, key) WHERE state <> 'Expired'",
        # An issuer's reference is spent once, and an attempt spends one at most (mutation-profile 9).
        f"""CREATE TABLE spends (
            spend TEXT PRIMARY KEY, issuer TEXT NOT NULL, reference TEXT NOT NULL, instance TEXT NOT NULL,
            attempt TEXT NOT NULL REFERENCES attempts (attempt), state TEXT NOT NULL, spent_at INTEGER NOT NULL,
            CHECK ({sql.state_domain(approval)})
        ) STRICT""",
        "CREATE UNIQUE INDEX spends_once ON spends (issuer, reference)",
        "CREATE UNIQUE INDEX spends_one_each ON spends (attempt)",
        "CREATE TABLE diagnostics (seq INTEGER PRIMARY KEY, attempt TEXT NOT NULL, what TEXT NOT NULL) STRICT",
        sql.STATUS_LOG_DDL,
        *sql.guard_triggers(attempt, "attempts", "attempt"),
        *sql.guard_triggers(reservation, "reservations", "reservation"),
        *sql.guard_triggers(approval, "spends", "spend"),
        *sql.log_triggers(attempt, "attempts", "attempt"),
        *sql.log_triggers(reservation, "reservations", "reservation"),
        *sql.log_triggers(approval, "spends", "spend"),
    )
