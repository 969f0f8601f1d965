"""Legal variants of keys: lookup and reservation, what a waiter hears, retirement, lagging and missing times."""

from __future__ import annotations

import sqlite3
from typing import Any

from conformance.kit import AckLost, StoreFailed, Time
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher, IndexUnreadable, NoRoom
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.keys import CLASSIFICATION, Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Record
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import Collection
from reference_impl.store import Transaction

KEYS = Collection("mutation-host")


def _seems_free(ledger: Ledger, call: Call) -> bool:
    """Whether a second read of the index shows that nobody holds the key; a failed one shows nothing."""
    try:
        return ledger.find_live("invoke.read_again", call.namespace, str(call.key)) is None
    except StoreFailed:
        return False


@KEYS.plant(
    "not-attempted-when-free",
    names="first-lookup-unavailable/not-attempted",
    part="observer",
    readings={"first-lookup-unavailable": "not-attempted"},
)
class NotAttemptedWhenFree(Observer):
    """Gives up as not attempted when the first lookup failed and a second one shows that the key is free."""

    def unread(self, call: Call, voice: Voice) -> Answer:
        if _seems_free(self._ledger, call):
            return voice.not_attempted("unavailable", None)
        return super().unread(call, voice)


@KEYS.plant("anchor-failure-unknown", names="keyed-anchor-unavailable/unknown-when-keyed", part="dispatcher")
class AnchorFailureUnknown(Dispatcher):
    """Answers unknown whenever a keyed attempt could not be anchored."""

    def not_anchored(self, call: Call, voice: Voice) -> Answer:
        if call.key is not None:
            return voice.unknown("unavailable")
        return super().not_anchored(call, voice)


@KEYS.plant(
    "anchor-not-attempted",
    names="keyed-anchor-unavailable/not-attempted-always",
    part="dispatcher",
    readings={"keyed-anchor-unavailable": "not-attempted-always"},
)
class AnchorNotAttempted(Dispatcher):
    """Answers not attempted also when its prepare could not read the index, once a second look shows a free key."""

    def index_unread(self, call: Call, voice: Voice) -> Answer:
        if _seems_free(self._ledger, call):
            return voice.not_attempted("unavailable", None)
        return super().index_unread(call, voice)


@KEYS.plant("index-decides", names="REPLAY-012/unique-index-decides", part="dispatcher")
class IndexDecides(Dispatcher):
    """Inserts without looking and lets the unique index find the winner."""

    def prepare(self, call: Call, attempt: str) -> Record | None:
        if call.key is None:
            return super().prepare(call, attempt)
        reservation = self._ports.ids.new("invoke.prepare")
        free = False
        try:
            with self._store.transaction("invoke.prepare") as tx:
                self._ledger.anchor(tx, call, attempt, self._worker)
                self._ledger.reserve(tx, call, attempt, reservation)
                free = True
                if call.capacity is not None and self._ledger.is_full(tx, call.capacity + 1):
                    raise NoRoom
        except sqlite3.IntegrityError:
            return self._holder(call, attempt)
        except StoreFailed as failure:
            if free:
                raise
            raise IndexUnreadable from failure
        return None

    def _holder(self, call: Call, attempt: str) -> Record | None:
        try:
            held = self._ledger.find_live("invoke.find_holder", call.namespace, str(call.key))
        except StoreFailed as failure:
            raise IndexUnreadable from failure
        if held is not None and not self.may_replace(held, self._ports.clock.now("invoke.find_holder")):
            return held
        return super().prepare(call, attempt)


@KEYS.plant("waits-are-no-replays", names="waiter-replayed-flag/only-stored-result-is-a-replay", part="observer")
class WaitsAreNoReplays(Observer):
    """Says replayed only for a result that was stored when the call came."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        if record.state in CLASSIFICATION or "mutation" not in answer:
            return answer
        return {**answer, "mutation": {**answer["mutation"], "replayed": False}}


@KEYS.plant("conflicts-with-an-observation", names="conflict-metadata/r2", part="observer")
class ConflictsWithAnObservation(Observer):
    """Says beside a conflict that nothing was attempted for this call, without any ids."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        if answer.get("error", {}).get("code") != "idempotency_conflict":
            return answer
        return {**voice.not_attempted("idempotency_conflict", None), "error": answer["error"]}


@KEYS.plant("deletes-expired", names="expired-state-representation/row-deleted", part="ledger")
class DeletesExpired(Ledger):
    """Deletes the row of a generation that is retired."""

    def retire(self, tx: Transaction, reservation: str, namespace: str, key: str) -> bool:
        sql = "DELETE FROM reservations WHERE reservation = ? AND namespace = ? AND key = ? AND state = 'Replayable'"
        return tx.execute(sql, (reservation, namespace, key)) == 1


class _KeepsWatching(Observer):
    def decide(self, call: Call, record: Record | None, now: Time) -> str:
        action = super().decide(call, record, now)
        return "replay" if action == "retire_then_candidate" else action


class _NeverReplaces(Dispatcher):
    def may_replace(self, held: Record, now: Time) -> bool:
        del held, now
        return False


@KEYS.plant(
    "replays-until-retired",
    names="expiry-before-retirement/replay-until-retired",
    part="host",
    readings={"expiry-before-retirement": "replay-until-retired"},
)
class ReplaysUntilRetired(MutationHost):
    """Replays and conflicts past the expiry until a housekeeper has retired the generation."""

    observer_class = _KeepsWatching
    dispatcher_class = _NeverReplaces


@KEYS.plant("retires-at-lookup", names="expiry-before-retirement/retire-at-next-candidate", part="observer")
class RetiresAtLookup(Observer):
    """Retires an expired generation by its id in a transaction of the lookup, ahead of the prepare."""

    def decide(self, call: Call, record: Record | None, now: Time) -> str:
        action = super().decide(call, record, now)
        if record is not None and record.reservation is not None and action == "retire_then_candidate":
            try:
                with self._ledger.store.transaction("invoke.retire") as tx:
                    self._ledger.retire(tx, record.reservation, call.namespace, str(call.key))
            except (StoreFailed, AckLost):
                # The prepare looks again and retires what is still there.
                return action
        return action


@KEYS.plant("retires-in-one-statement", names="RET-018/one-statement", part="supervisor")
class RetiresInOneStatement(Supervisor):
    """Retires by one statement that itself selects the generations whose retention is over."""

    def housekeep(self) -> dict[str, Any]:
        now = self._ports.clock.now("housekeep.retire")
        if not now.trusted:
            return {"status": "done", "retired": 0}
        sql = "UPDATE reservations SET state = 'Expired' WHERE state = 'Replayable' AND replay_expires_at <= ?"
        try:
            with self._store.transaction("housekeep.retire") as tx:
                retired = tx.execute(sql, (now.wall_ms,))
        except (StoreFailed, AckLost):
            return {"status": "unavailable", "retired": 0}
        return {"status": "done", "retired": retired}


class _LagsBehind(Ledger):
    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        if state != "Indeterminate":
            super().close_reservation(tx, attempt, state, now)

    def quarantine(self, tx: Transaction, attempt: str, now: Time) -> None:
        """What recovery makes up for."""
        super().close_reservation(tx, attempt, "Indeterminate", now)


class _CatchesUp(Supervisor):
    def _repair(self, record: Record) -> bool:
        if record.state != "Indeterminate":
            return super()._repair(record)
        now = self._ports.clock.now("recover.quarantine")
        assert isinstance(self._ledger, _LagsBehind)
        try:
            with self._store.transaction("recover.quarantine") as tx:
                self._ledger.quarantine(tx, record.attempt, now)
                return True
        except (StoreFailed, AckLost):
            return False


@KEYS.plant("quarantine-lags", names="quarantine-atomicity/may-lag", part="host")
class QuarantineLags(MutationHost):
    """Leaves the reservation of an Indeterminate attempt Pending until recovery quarantines it."""

    ledger_class = _LagsBehind
    supervisor_class = _CatchesUp


class _LeavesTimesOpen(Ledger):
    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        if state == "Indeterminate" or now.trusted:
            super().close_reservation(tx, attempt, state, now)
        else:
            sql = "UPDATE reservations SET state = 'Replayable' WHERE attempt = ? AND state = 'Pending'"
            tx.execute(sql, (attempt,))

    def undated(self) -> int:
        """How many replayable generations have no times yet."""
        sql = "SELECT count(*) FROM reservations WHERE state = 'Replayable' AND replay_expires_at IS NULL"
        return int(self.store.read("recover.undated", sql)[0][0])

    def stamp(self, tx: Transaction, now: Time) -> int:
        """Give them the trusted time of now, which can only make the guarantee longer."""
        sql = (
            "UPDATE reservations SET settled_at = ?, replay_expires_at = ?"
            " WHERE state = 'Replayable' AND replay_expires_at IS NULL"
        )
        return tx.execute(sql, (now.wall_ms, now.wall_ms + self._retention_ms))


class _Stamps(Supervisor):
    def recover(self) -> dict[str, Any]:
        done = super().recover()
        now = self._ports.clock.now("recover.stamp")
        assert isinstance(self._ledger, _LeavesTimesOpen)
        try:
            if now.trusted and self._ledger.undated():
                with self._store.transaction("recover.stamp") as tx:
                    self._ledger.stamp(tx, now)
        except (StoreFailed, AckLost):
            return {**done, "status": "unavailable"}
        return done


@KEYS.plant("times-left-open", names="settlement-without-trusted-time/times-left-open", part="host")
class TimesLeftOpen(MutationHost):
    """Settles a known result without trusted time and leaves both times open until recovery stamps them."""

    ledger_class = _LeavesTimesOpen
    supervisor_class = _Stamps


@KEYS.plant("settlement-held-back", names="settlement-without-trusted-time/settlement-held-back", part="ledger")
class SettlementHeldBack(Ledger):
    """Writes no known outcome and no abort while trusted time is missing; the row stays as it is."""

    def move(self, tx: Transaction, attempt: str, trigger: str, *, now: Time | None = None, **values: Any) -> bool:
        known = self._moves["mutation_attempt", trigger][1] in ("Completed", "Failed", "Aborted")
        if known and now is not None and not now.trusted:
            return False
        return super().move(tx, attempt, trigger, now=now, **values)
