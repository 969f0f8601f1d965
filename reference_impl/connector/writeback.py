"""From a durable remote id to the end: the link with the attempt's step in one commit, then the mirror, then done."""

from __future__ import annotations

import json
from typing import Any

from conformance.kit import AckLost, Ports, StoreFailed, Time
from reference_impl.connector.ledger import FREE, Ledger
from reference_impl.connector.model import Attempt, Raw, canonical_json
from reference_impl.store import Transaction


class Writeback:
    """Everything after the POST is over; none of it sends."""

    def __init__(self, ledger: Ledger, ports: Ports, workers: Raw) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._ports = ports
        self._lease_ms = int(workers["lease_ms"])

    def complete(self, held: Attempt, claim: str) -> dict[str, Any]:
        """Finish an attempt under a claim: link, mirror, close. What fails is left to the next claim."""
        try:
            if held.state != "writeback_pending" and not self.link(held, claim):
                return {"status": "fenced", "attempt": held.attempt}
            outcome = self.mirror(held, claim)
            if outcome == "settled" and not self.close(held, claim):
                outcome = "fenced"
        except (StoreFailed, AckLost):
            outcome = "writeback_pending"
        return {"status": "finalized" if outcome == "settled" else outcome, "attempt": held.attempt}

    def claim(self, held: Attempt) -> str | None:
        """Take the lease of a row whose POST is over; None when somebody else was first."""
        token = self._ports.ids.new("writeback.claim")
        now = self._ports.clock.now("writeback.claim")
        with self._store.transaction("writeback.claim") as tx:
            won = self._ledger.move(tx, held.attempt, "claim_writeback", held_by=held.claim, **self._lease(token, now))
        return token if won else None

    def link(self, held: Attempt, claim: str) -> bool:
        """Finalize the link and take the attempt on, together; False when the claim is lost."""
        link = self._ports.ids.new("writeback.link")
        with self._store.transaction("writeback.link") as tx:
            moved = self._ledger.move(tx, held.attempt, "activate_writeback", held_by=claim)
            if moved:
                self._ledger.insert_link(tx, link, held, str(held.remote_id))
            return moved

    def mirror(self, held: Attempt, claim: str) -> str:
        """Write the compatibility pair once: ``settled``, ``writeback_pending`` (to be tried again), or an end."""
        with self._store.transaction("writeback.mirror") as tx:
            if not self._ledger.owns(tx, held.attempt, claim, "writeback_pending"):
                return "fenced"
            outcome = self.write_pair(tx, held)
            if outcome in ("written", "skipped"):
                self._ledger.mark_mirror(tx, held, outcome)
                return "settled"
            return self._refused(tx, held, claim, outcome)

    def write_pair(self, tx: Transaction, held: Attempt) -> str:
        """One try at the record: ``written``, ``skipped``, ``gone`` or ``failed``."""
        rows = tx.query(
            "SELECT fields, deleted, locked FROM records WHERE object = ? AND id = ?", (held.object, held.record)
        )
        if not rows or rows[0][1]:
            return "gone"
        if held.mirror is None:
            return "skipped"
        fields = json.loads(rows[0][0])
        pair = held.mirror
        current = fields.get(pair["remote_id_field"])
        if current not in (pair["expected"], held.remote_id):
            # Somebody else's value is not overwritten.
            return "skipped"
        if rows[0][2]:
            return "failed"
        fields[pair["remote_id_field"]] = held.remote_id
        fields[pair["provenance_field"]] = held.link_key
        tx.execute(
            "UPDATE records SET fields = ? WHERE object = ? AND id = ?",
            (canonical_json(fields), held.object, held.record),
        )
        return "written"

    def _refused(self, tx: Transaction, held: Attempt, claim: str, outcome: str) -> str:
        self._ledger.mark_mirror(tx, held, "failed")
        if outcome == "gone":
            self._ledger.move(tx, held.attempt, "lose_source", held_by=claim, reason="source_gone", **FREE)
            return "failed"
        tries = held.mirror_tries + 1
        if tries >= int(held.contract["retry"]["mirror_tries"]):
            done: dict[str, Any] = {"mirror_tries": tries, "reason": "mirror_exhausted", **FREE}
            self._ledger.move(tx, held.attempt, "give_up_writeback", held_by=claim, **done)
            return "failed"
        self._ledger.move(tx, held.attempt, "release_writeback", held_by=claim, mirror_tries=tries, **FREE)
        return "writeback_pending"

    def close(self, held: Attempt, claim: str) -> bool:
        """The mirror is settled: the attempt is done."""
        with self._store.transaction("writeback.settle") as tx:
            return self._ledger.move(tx, held.attempt, "settle_mirror", held_by=claim, **FREE)

    def _lease(self, token: str, now: Time) -> dict[str, Any]:
        return {"claim": token, "worker": self._ports.actor, "lease_expires_at": now.wall_ms + self._lease_ms}
