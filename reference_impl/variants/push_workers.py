"""Legal variants of the connector runtime: who takes an attempt up, waits, replays, and who closes it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from conformance.kit import AckLost, StoreFailed
from reference_impl.connector.dispatch import FIT, Dispatcher, Result
from reference_impl.connector.ledger import FREE
from reference_impl.connector.model import CONFIGURED, DEFERRED, Attempt, Raw
from reference_impl.connector.policy import Policy
from reference_impl.connector.runtime import Connector
from reference_impl.connector.saver import Reserved, Saver
from reference_impl.connector.worker import Worker
from reference_impl.planting import Collection
from reference_impl.store import Transaction

WORKERS = Collection("connector-push")

_RESUMES = "who resumes a configured pending attempt, or recovers an expired configured claim"
_LEASE = "lease clock, renewal and fencing"
_WAITS = "how a claimed attempt waits for its association target"


@WORKERS.plant("saves-resume", names=f"{_RESUMES}/r2", part="saver")
class SavesResume(Saver):
    """Lets a synchronous save take up the pending attempt that it finds."""

    def save(self, pack: Raw, raw: Raw, record: str, user: str) -> Reserved | dict[str, Any]:
        said = super().save(pack, raw, record, user)
        if isinstance(said, dict) and said.get("reason") == "pending":
            try:
                held = self._ledger.attempt("save.read_back", str(said["attempt"]))
            except StoreFailed:
                return said
            if held.lane == CONFIGURED and raw["dispatch"] == "synchronous":
                return Reserved(held.attempt, held.lane)
        return said


@WORKERS.plant("workers-recover-alone", names=f"{_RESUMES}/r1", part="worker")
class WorkersRecoverAlone(Worker):
    """Leaves every recovery to the claims of workers; the stand-alone step does nothing."""

    def recover(self) -> dict[str, Any]:
        return {"status": "done", "counts": {}}


class _ReplaysWorker(Worker):
    def recover_expired(self, lanes: tuple[str, ...], tally: Counter[str], *, may_send: bool = True) -> None:
        super().recover_expired(lanes, tally, may_send=False)
        now = self._ports.clock.now("reclaim.scan")
        for attempt in self._ledger.attempts_in("reclaim.scan", ("processing",), lanes):
            over = attempt.claim is None or (now.trusted and now.wall_ms > (attempt.lease_expires_at or now.wall_ms))
            if may_send and over and attempt.io_started_at is not None and attempt.replayable:
                with self._store.transaction("reclaim.expired") as tx:
                    self._ledger.move(tx, attempt.attempt, "recover_unsent", held_by=attempt.claim, **FREE)


class _ReplaysDispatcher(Dispatcher):
    def checkpoint(self, attempt: str, claim: str) -> bool:
        held = self._ledger.attempt("dispatch.read_back", attempt)
        if held.io_started_at is None or not held.replayable:
            return held.io_started_at is None and super().checkpoint(attempt, claim)
        with self._store.transaction("replay.take") as tx:
            return self._ledger.move(tx, attempt, "take_over_for_replay", held_by=claim, sends=held.sends + 1)


@WORKERS.plant("replays-through-pending", names="path of a permitted replay through the state table/r2", part="host")
class ReplaysThroughPending(Connector):
    """Returns an attempt that its contract lets repeat to pending, checkpoint kept, and claims it again."""

    worker_class = _ReplaysWorker
    dispatcher_class = _ReplaysDispatcher


class _ClaimsUnready(Worker):
    def targets_ready(self, attempt: Attempt) -> bool:
        del attempt
        return True


class _Unready(Exception):
    """The association target has no finalized link."""


class _WaitsOutLease(Dispatcher):
    def freeze(self, held: Attempt, claim: str) -> Attempt:
        for association in held.associations:
            if association["record"] and self._ledger.remote_id_of("dispatch.targets", association["link_key"]) is None:
                raise _Unready
        return super().freeze(held, claim)

    def carry(self, attempt: str, lanes: tuple[str, ...]) -> Result:
        try:
            return super().carry(attempt, lanes)
        except _Unready:
            return self.wait(attempt)
        except (StoreFailed, AckLost):
            return {"status": "unknown", "attempt": attempt, "reason": "unavailable"}

    def wait(self, attempt: str) -> Result:
        """Leave the row to its lease."""
        return {"status": "blocked", "attempt": attempt, "reason": "target_unready"}


class _GivesBack(_WaitsOutLease):
    def wait(self, attempt: str) -> Result:
        held = self._ledger.attempt("dispatch.read_back", attempt)
        if held.lane == DEFERRED and held.io_started_at is None:
            with self._store.transaction("dispatch.give_back") as tx:
                self._ledger.move(
                    tx, attempt, "recover_unsent", held_by=held.claim, when="io_started_at IS NULL", **FREE
                )
        return super().wait(attempt)


@WORKERS.plant("waits-out-lease", names=f"{_WAITS}/r2", part="host")
class WaitsOutLease(Connector):
    """Claims a row whose target is not ready, finds that out, and lets the lease run out."""

    worker_class = _ClaimsUnready
    dispatcher_class = _WaitsOutLease


@WORKERS.plant("gives-back", names=f"{_WAITS}/r3", part="host")
class GivesBack(Connector):
    """Claims a row whose target is not ready, and gives it back at once."""

    worker_class = _ClaimsUnready
    dispatcher_class = _GivesBack


@WORKERS.plant("lease-over-costs-nothing", names=f"{_LEASE}/r3", part="dispatcher")
class LeaseOverCostsNothing(Dispatcher):
    """Writes its checkpoint under its token alone, as long as nobody has taken the row, its lease being over or not."""

    def checkpoint(self, attempt: str, claim: str) -> bool:
        now = self._ports.clock.now("dispatch.checkpoint")
        when = f"io_started_at IS NULL AND {FIT}"
        with self._store.transaction("dispatch.checkpoint") as tx:
            return self._ledger.move(
                tx, attempt, "write_checkpoint", held_by=claim, when=when, io_started_at=now.wall_ms, sends=1
            )


@WORKERS.plant("exclusive-workers", names="two workers at once and switching modes/r1", part="worker")
class ExclusiveWorkers(Worker):
    """Runs no narrow worker while the general one is enabled."""

    def work(self, kind: str) -> dict[str, Any]:
        if kind == "narrow" and self._config["workers"]["general"]:
            return {"status": "refused", "reason": "general_worker_enabled"}
        return super().work(kind)


@WORKERS.plant("supersedes-and-reserves", names="when superseded is written/r2", part="policy")
class SupersedesAndReserves(Policy):
    """Closes the old attempt and reserves the next, from the same frozen request, in one transaction."""

    def _supersede(self, tx: Transaction, args: Raw, link: str) -> str | None:
        refused = super()._supersede(tx, args, link)
        if refused is None:
            self._reserve_again(tx, args, link)
        return refused

    def _reserve_again(self, tx: Transaction, args: Raw, fresh: str) -> None:
        held = self._newest(tx, args)
        columns = [row[1] for row in tx.query("PRAGMA table_info(attempts)")]
        new = {"attempt": "?1", "idempotency_key": "?2", "state": "'pending'", "ordinal": "ordinal + 1"}
        new |= dict.fromkeys(("sends", "mirror_tries"), "0")
        new |= dict.fromkeys(("io_started_at", "response_status", "response_digest", "reason"), "NULL")
        chosen = ", ".join(new.get(name, name) for name in columns)
        sql = f"INSERT INTO attempts ({', '.join(columns)}) SELECT {chosen} FROM attempts WHERE attempt = ?3"
        tx.execute(sql, (fresh, f"{fresh}-key", held.attempt if held else None))
