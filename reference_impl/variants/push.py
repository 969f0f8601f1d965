"""Legal variants of the connector runtime: capture, link and mirror, and what happens to an id that is taken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reference_impl.connector.dispatch import Dispatcher
from reference_impl.connector.ledger import FREE
from reference_impl.connector.model import CONFIGURED, Attempt, Raw
from reference_impl.connector.policy import Policy
from reference_impl.connector.runtime import Connector
from reference_impl.connector.worker import Worker
from reference_impl.connector.writeback import Writeback
from reference_impl.planting import Collection
from reference_impl.store import Transaction

WRITEBACKS = Collection("connector-push")

_STRAIGHT = "moving straight to finalized after POST"
_CONFIGURED = "configured rows in writeback_commit_pending"
_POST_SENT = "post_sent as a durable stop"


@WRITEBACKS.plant("captures-in-one-commit", names=f"{_CONFIGURED}/r3", part="dispatcher", readings={_CONFIGURED: "r3"})
class CapturesInOneCommit(Dispatcher):
    """Makes id and link durable in one commit, so that no row ever waits between the two."""

    staged_state = "writeback_pending"

    def stage(self, held: Attempt, claim: str, remote_id: str) -> str:
        ids: dict[str, Any] = {"remote_id": remote_id, "canonical_id": held.canonical(remote_id)}
        link = self._ports.ids.new("dispatch.capture")
        with self._store.transaction("dispatch.capture") as tx:
            if self.taken(tx, held, ids["canonical_id"]):
                kept = {**ids, "reason": "locator_conflict", **FREE}
                failed = self._ledger.move(tx, held.attempt, "fail_on_locator", held_by=claim, **kept)
                return "failed" if failed else "fenced"
            moved = self._ledger.move(tx, held.attempt, "capture_id", held_by=claim, **ids)
            if moved:
                self._ledger.insert_link(tx, link, held, remote_id)
            return "staged" if moved else "fenced"


@WRITEBACKS.plant(
    "straight-to-finalized",
    names=f"{_STRAIGHT}/r2",
    part="dispatcher",
    unguarded=True,
    readings={_STRAIGHT: "r2"},
)
class StraightToFinalized(Dispatcher):
    """Writes no mirror, records it as skipped, and is done in the commit of the link."""

    def stage(self, held: Attempt, claim: str, remote_id: str) -> str:
        ids: dict[str, Any] = {"remote_id": remote_id, "canonical_id": held.canonical(remote_id)}
        link = self._ports.ids.new("dispatch.capture")
        with self._store.transaction("dispatch.capture") as tx:
            if self.taken(tx, held, ids["canonical_id"]):
                kept = {**ids, "reason": "locator_conflict", **FREE}
                failed = self._ledger.move(tx, held.attempt, "fail_on_locator", held_by=claim, **kept)
                return "failed" if failed else "fenced"
            sql = (
                "UPDATE attempts SET state = 'finalized', claim = NULL, remote_id = ?, canonical_id = ?"
                " WHERE attempt = ? AND claim = ? AND state IN ('processing', 'post_sent')"
            )
            if tx.execute(sql, (*ids.values(), held.attempt, claim)) != 1:
                return "fenced"
            self._ledger.insert_link(tx, link, held, remote_id)
            self._ledger.mark_mirror(tx, held, "skipped")
            return "finalized"


@WRITEBACKS.plant(
    "skips-post-sent", names=f"{_POST_SENT}/optional-stop", part="dispatcher", readings={_POST_SENT: "optional-stop"}
)
class SkipsPostSent(Dispatcher):
    """Interprets the answer at once, without a durable stop at post_sent."""

    def note(self, held: Attempt, claim: str, seen: Raw) -> bool:
        del held, claim, seen
        return True


class _LinksLaterPolicy(Policy):
    def _reconcile(self, tx: Transaction, args: Raw, link: str) -> str | None:
        del link
        held = self._newest(tx, args)
        if held is None or held.state != "ambiguous_remote_effect":
            return "not_ambiguous"
        remote_id = str(args["remote_id"])
        if self._ledger.locator_owner(tx, held, held.canonical(remote_id)) is not None:
            return "locator_conflict"
        ids: dict[str, Any] = {"remote_id": remote_id, "canonical_id": held.canonical(remote_id)}
        self._ledger.move(tx, held.attempt, "reconcile", held_by=None, **ids)
        self._note(tx, args, held.link_key)
        return None


class _LinksLaterWriteback(Writeback):
    def mirror(self, held: Attempt, claim: str) -> str:
        link = self._ports.ids.new("writeback.link")
        with self._store.transaction("writeback.link") as tx:
            owns = self._ledger.owns(tx, held.attempt, claim, "writeback_pending")
            if owns and not tx.query("SELECT 1 FROM links WHERE link_key = ?", (held.link_key,)):
                self._ledger.insert_link(tx, link, held, str(held.remote_id))
        return super().mirror(held, claim)


@WRITEBACKS.plant("links-later", names="when the link row appears/r2", part="host")
class LinksLater(Connector):
    """Reconciles the attempt alone and lets the next worker finalize its link."""

    policy_class = _LinksLaterPolicy
    writeback_class = _LinksLaterWriteback


@WRITEBACKS.plant("overwrites-mirror", names="use of the expected writeback values/r2", part="writeback")
class OverwritesMirror(Writeback):
    """Keeps the expected values for operators and writes the mirror in any case."""

    def write_pair(self, tx: Transaction, held: Attempt) -> str:
        free = {**held.mirror, "expected": self._current(tx, held)} if held.mirror else None
        return super().write_pair(tx, replace(held, mirror=free))

    def _current(self, tx: Transaction, held: Attempt) -> Any:
        pair = held.mirror or {}
        sql = "SELECT json_extract(fields, ?) FROM records WHERE object = ? AND id = ?"
        rows = tx.query(sql, (f"$.{pair['remote_id_field']}", held.object, held.record))
        return rows[0][0] if rows else None


class _ParksConflicts(Dispatcher):
    def stage(self, held: Attempt, claim: str, remote_id: str) -> str:
        ids: dict[str, Any] = {"remote_id": remote_id, "canonical_id": held.canonical(remote_id)}
        with self._store.transaction("dispatch.capture") as tx:
            if self.taken(tx, held, ids["canonical_id"]):
                kept = {**ids, "reason": "locator_conflict", **FREE}
                parked = self._ledger.move(tx, held.attempt, "capture_id", held_by=claim, **kept)
                return "writeback_pending" if parked else "fenced"
        return super().stage(held, claim, remote_id)


class _LeavesConflicts(Worker):
    def unfinished(self, lanes: tuple[str, ...]) -> list[Attempt]:
        return [a for a in super().unfinished(lanes) if a.reason != "locator_conflict"]


@WRITEBACKS.plant("parks-conflicts", names="attempt status after a locator conflict at finalization/r2", part="host")
class ParksConflicts(Connector):
    """Leaves an attempt whose id belongs to somebody else in writeback_pending, and no worker takes it up."""

    dispatcher_class = _ParksConflicts
    worker_class = _LeavesConflicts


@WRITEBACKS.plant("leaves-staged", names=f"{_CONFIGURED}/r1", part="worker")
class LeavesStaged(Worker):
    """Promotes no configured row that stopped between id and link; an operator has to."""

    def unfinished(self, lanes: tuple[str, ...]) -> list[Attempt]:
        found = super().unfinished(lanes)
        return [a for a in found if a.state != "writeback_commit_pending" or a.lane != CONFIGURED]
