"""The ledger: every durable move of an attempt and its reservation, as compare-and-set inside a given transaction.

Source and destination of a move come from the lifecycle files; a move that finds the row elsewhere changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from conformance.kit import Time
from reference_impl.mutation_host.identity import canonical_json
from reference_impl.mutation_host.model import RECORD_SQL, Call, Proof, Record
from reference_impl.store import Store, Transaction
from statemachines.model import Lifecycle


class Ledger:
    """Reads and moves over the tables of :mod:`reference_impl.mutation_host.schema`."""

    def __init__(self, store: Store, lifecycles: Mapping[str, Lifecycle], retention_ms: int) -> None:
        self.store = store
        self._moves = {(lc.id, t.trigger): (t.source, t.dest) for lc in lifecycles.values() for t in lc.transitions}
        self._retention_ms = retention_ms

    def find_live(self, step: str, namespace: str, key: str) -> Record | None:
        """The live reservation under a key, with its attempt."""
        rows = self.store.read(step, f"{RECORD_SQL} WHERE {_LIVE}", (namespace, key))
        return Record.from_row(rows[0]) if rows else None

    def find_live_within(self, tx: Transaction, namespace: str, key: str) -> Record | None:
        """The same, inside a transaction: the authoritative check before a reservation."""
        rows = tx.query(f"{RECORD_SQL} WHERE {_LIVE}", (namespace, key))
        return Record.from_row(rows[0]) if rows else None

    def find_attempt(self, step: str, attempt: str) -> Record:
        """One attempt by its id."""
        return Record.from_row(self.store.read(step, f"{RECORD_SQL} WHERE a.attempt = ?", (attempt,))[0])

    def find_generation(self, step: str, reservation: str) -> Record | None:
        """One generation of a key by its reservation id: what a waiter watches, whoever owns the key by now."""
        rows = self.store.read(step, f"{RECORD_SQL} WHERE r.reservation = ?", (reservation,))
        return Record.from_row(rows[0]) if rows else None

    def unsettled(self, step: str) -> list[Record]:
        """Every attempt that is not settled, and every settled one whose reservation lags behind."""
        lagging = "r.state = 'Pending' AND a.state NOT IN ('Prepared', 'Dispatching')"
        sql = f"{RECORD_SQL} WHERE a.state IN ('Prepared', 'Dispatching') OR ({lagging}) ORDER BY a.rowid"
        return [Record.from_row(row) for row in self.store.read(step, sql)]

    def anchor(self, tx: Transaction, call: Call, attempt: str, worker: str) -> None:
        """Insert the Prepared attempt."""
        tx.execute(
            "INSERT INTO attempts"
            " (attempt, request_id, operation, connection, caller, key, input_digest, worker, approval,"
            " approval_reference, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'Prepared')",
            (
                attempt,
                call.request_id,
                call.operation,
                call.connection,
                call.caller,
                call.key,
                call.input_digest,
                worker,
                call.mode,
                call.proof.reference if call.proof is not None else None,
            ),
        )

    def reserve(self, tx: Transaction, call: Call, attempt: str, reservation: str) -> None:
        """Insert the Pending reservation that points at the attempt."""
        tx.execute(
            "INSERT INTO reservations (reservation, namespace, key, fingerprint, attempt, state)"
            " VALUES (?, ?, ?, ?, ?, 'Pending')",
            (reservation, call.namespace, call.key, call.fingerprint, attempt),
        )

    def move(
        self,
        tx: Transaction,
        attempt: str,
        trigger: str,
        *,
        result: str | None = None,
        cause: str | None = None,
        now: Time | None = None,
    ) -> bool:
        """Fire a trigger of ``mutation_attempt``; False when the row was not in its source state."""
        source, dest = self._moves["mutation_attempt", trigger]
        settled_at = now.wall_ms if now is not None and now.trusted else None
        changed = tx.execute(
            "UPDATE attempts SET state = ?, result = ?, cause = ?, settled_at = ? WHERE attempt = ? AND state = ?",
            (dest, result, cause, settled_at, attempt, source),
        )
        return changed == 1

    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        """Let the reservation follow its attempt: quarantined with an unknown outcome, replayable with a known one.

        Without trusted time a known outcome leaves the reservation Pending: it lags and stays live until recovery can
        stamp it (reading settle-attempt-now of settlement-without-trusted-time). The time is the attempt's own where it
        was settled with trusted time, so that a repair starts no new retention.
        """
        if state == "Indeterminate":
            tx.execute(
                "UPDATE reservations SET state = 'Quarantined' WHERE attempt = ? AND state = 'Pending'",
                (attempt,),
            )
        elif now.trusted:
            tx.execute(
                "UPDATE reservations SET state = 'Replayable', settled_at = a.at, replay_expires_at = a.at + ?"
                " FROM (SELECT coalesce(settled_at, ?) AS at FROM attempts WHERE attempt = ?) AS a"
                " WHERE attempt = ? AND state = 'Pending'",
                (self._retention_ms, now.wall_ms, attempt, attempt),
            )

    def expired(self, step: str, now: Time) -> list[tuple[str, str, str]]:
        """(reservation, namespace, key) of the generations whose retention is over; none without trusted time."""
        if not now.trusted:
            return []
        sql = (
            "SELECT reservation, namespace, key FROM reservations"
            " WHERE state = 'Replayable' AND replay_expires_at <= ? ORDER BY rowid"
        )
        return [(row[0], row[1], row[2]) for row in self.store.read(step, sql, (now.wall_ms,))]

    def retire(self, tx: Transaction, reservation: str, namespace: str, key: str) -> bool:
        """Retire exactly this generation (mutation-profile 5.1: reservation id besides namespace and key)."""
        sql = (
            "UPDATE reservations SET state = 'Expired'"
            " WHERE reservation = ? AND namespace = ? AND key = ? AND state = 'Replayable'"
        )
        return tx.execute(sql, (reservation, namespace, key)) == 1

    def is_full(self, tx: Transaction, capacity: int | None) -> bool:
        """Whether a bounded store has no room for one more live reservation; nothing is ever evicted for it."""
        if capacity is None:
            return False
        live = tx.query("SELECT count(*) FROM reservations WHERE state <> 'Expired'")
        return int(live[0][0]) >= capacity

    def is_spent(self, step: str, issuer: str, reference: str) -> bool:
        """Whether this reference of this issuer was spent here before."""
        return bool(self.store.read(step, _SPENT, (issuer, reference)))

    def is_spent_within(self, tx: Transaction, issuer: str, reference: str) -> bool:
        """The same, inside the transaction that is about to spend it."""
        return bool(tx.query(_SPENT, (issuer, reference)))

    def spend(self, tx: Transaction, attempt: str, instance: str, proof: Proof, now: Time) -> None:
        """Spend an approval or claim for one attempt; the row stays, whatever becomes of the attempt."""
        tx.execute(
            "INSERT INTO spends (spend, issuer, reference, instance, attempt, state, spent_at)"
            " VALUES (?, ?, ?, ?, ?, 'Spent', ?)",
            (
                canonical_json([proof.issuer, proof.reference]),
                proof.issuer,
                proof.reference,
                instance,
                attempt,
                now.wall_ms,
            ),
        )

    def diagnose(self, tx: Transaction, attempt: str, what: str) -> None:
        """Report a ledger failure beside a known result, for the operator."""
        tx.execute("INSERT INTO diagnostics (attempt, what) VALUES (?, ?)", (attempt, what))


_SPENT = "SELECT 1 FROM spends WHERE issuer = ? AND reference = ?"
_LIVE = "r.namespace = ? AND r.key = ? AND r.state <> 'Expired'"
