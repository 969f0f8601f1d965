"""Deviations about retention: what time, recovery and settlement do to a reservation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.kit import AckLost, StoreFailed, Time
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.keys import Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Record
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import Collection
from reference_impl.store import Transaction

RETENTION = Collection("mutation-host")


@RETENTION.plant("recovery-frees-keys", names="KEY-008", part="supervisor", unguarded=True)
class RecoveryFreesKeys(Supervisor):
    """Recovery deletes Pending reservations, so that whoever asks again makes a new attempt."""

    def recover(self) -> dict[str, Any]:
        try:
            with self._store.transaction("recover.free") as tx:
                tx.execute("DELETE FROM reservations WHERE state = 'Pending'")
        except (StoreFailed, AckLost):
            return {"status": "unavailable", "settled": 0}
        return super().recover()


@RETENTION.plant("any-clock-expires", names="RET-003", part="ledger")
class AnyClockExpires(Ledger):
    """Its housekeeper retires by whatever the wall clock says."""

    def expired(self, step: str, now: Time) -> list[tuple[str, str, str]]:
        return super().expired(step, replace(now, trusted=True))


class _Sweeps(Supervisor):
    """A housekeeper that retires more than it should."""

    def sweep(self, tx: Transaction, now: Time) -> None:
        """Retire what is none of its business."""
        raise NotImplementedError

    def housekeep(self) -> dict[str, Any]:
        done = super().housekeep()
        now = self._ports.clock.now("housekeep.more")
        try:
            with self._store.transaction("housekeep.more") as tx:
                self.sweep(tx, now)
        except (StoreFailed, AckLost):
            return {**done, "status": "unavailable"}
        return done


@RETENTION.plant("pending-is-cleared", names="RET-007", part="supervisor", unguarded=True)
class PendingIsCleared(_Sweeps):
    """Its housekeeper clears away what pends, together with what has expired."""

    def sweep(self, tx: Transaction, now: Time) -> None:
        del now
        tx.execute("UPDATE reservations SET state = 'Expired' WHERE state = 'Pending'")


@RETENTION.plant("quarantine-times-out", names="RET-015", part="supervisor", unguarded=True)
class QuarantineTimesOut(_Sweeps):
    """Its housekeeper resets a quarantine after a day."""

    def sweep(self, tx: Transaction, now: Time) -> None:
        old = "SELECT attempt FROM attempts WHERE settled_at <= ?"
        sql = f"UPDATE reservations SET state = 'Expired' WHERE state = 'Quarantined' AND attempt IN ({old})"
        tx.execute(sql, (now.wall_ms - 86_400_000,))


@RETENTION.plant("two-step-settlement", names="RET-008", part="dispatcher")
class TwoStepSettlement(Dispatcher):
    """Records the outcome in one transaction and lets the reservation follow in a second."""

    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        now = self._ports.clock.now("invoke.settle")
        try:
            with self._store.transaction("invoke.settle") as tx:
                won = self._ledger.move(tx, attempt, trigger, result=result, cause=cause, now=now)
            if won:
                with self._store.transaction("invoke.follow") as tx:
                    self._ledger.close_reservation(tx, attempt, state, now)
        except (StoreFailed, AckLost):
            return False
        return won


class _StampsNow(Ledger):
    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        super().close_reservation(tx, attempt, state, now)
        if state != "Indeterminate" and now.trusted:
            sql = "UPDATE reservations SET settled_at = ?, replay_expires_at = ? WHERE attempt = ?"
            tx.execute(sql, (now.wall_ms, now.wall_ms + self._retention_ms, attempt))


@RETENTION.plant("repair-begins-anew", names="RET-016", part="host")
class RepairBeginsAnew(MutationHost):
    """Settles in two steps, and a repair of the second begins the retention at its own time."""

    ledger_class = _StampsNow
    dispatcher_class = TwoStepSettlement


@RETENTION.plant("expiry-by-the-hour", names="RET-010", part="ledger")
class ExpiryByTheHour(Ledger):
    """Lets retention end at the full hour."""

    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        super().close_reservation(tx, attempt, state, now)
        sql = "UPDATE reservations SET replay_expires_at = replay_expires_at / 3600000 * 3600000 WHERE attempt = ?"
        tx.execute(sql, (attempt,))


@RETENTION.plant("replay-extends", names="RET-011", part="observer")
class ReplayExtends(Observer):
    """Keeps a result for another day whenever it is asked for."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        if record.fingerprint == call.fingerprint and record.reservation_state == "Replayable":
            now = self._ports.clock.now("observe.extend")
            sql = "UPDATE reservations SET replay_expires_at = ? WHERE reservation = ?"
            try:
                with self._ledger.store.transaction("observe.extend") as tx:
                    tx.execute(sql, (now.wall_ms + 86_400_000, record.reservation))
            except (StoreFailed, AckLost):
                return super().observe(call, record, voice)
        return super().observe(call, record, voice)


@RETENTION.plant("unknown-stays-pending", names="RET-014", part="ledger")
class UnknownStaysPending(Ledger):
    """Leaves the reservation of an Indeterminate attempt Pending."""

    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        if state != "Indeterminate":
            super().close_reservation(tx, attempt, state, now)


@RETENTION.plant("lag-is-not-repaired", names="RET-016", part="supervisor")
class LagIsNotRepaired(Supervisor):
    """Recovery looks at open attempts alone, never at a reservation that lags behind a settled one."""

    def _repair(self, record: Record) -> bool:
        del record
        return False


@RETENTION.plant("index-rebuilt-from-results", names="RET-025", part="supervisor", unguarded=True)
class IndexRebuiltFromResults(Supervisor):
    """After a restart it rebuilds its index from recorded results, and what has none is forgotten."""

    def recover(self) -> dict[str, Any]:
        done = super().recover()
        sql = (
            "DELETE FROM reservations WHERE state = 'Quarantined'"
            " AND attempt IN (SELECT attempt FROM attempts WHERE result IS NULL)"
        )
        try:
            with self._store.transaction("recover.rebuild") as tx:
                tx.execute(sql)
        except (StoreFailed, AckLost):
            return {**done, "status": "unavailable"}
        return done


@RETENTION.plant("untrusted-stamp", names="RET-037", part="ledger")
class UntrustedStamp(Ledger):
    """Begins the retention by whatever the wall clock says."""

    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        super().close_reservation(tx, attempt, state, replace(now, trusted=True))


def _over(ledger: Ledger, record: Record, now: Time) -> bool:
    if record.reservation_state != "Quarantined" or not now.trusted:
        return False
    sql = "SELECT 1 FROM attempts WHERE attempt = ? AND settled_at <= ?"
    return bool(ledger.store.read("invoke.age", sql, (record.attempt, now.wall_ms - 86_400_000)))


class _RetiresQuarantine(Ledger):
    def retire(self, tx: Transaction, reservation: str, namespace: str, key: str) -> bool:
        del namespace, key
        return tx.execute("UPDATE reservations SET state = 'Expired' WHERE reservation = ?", (reservation,)) == 1


class _ReplacesQuarantine(Dispatcher):
    def prepare(self, call: Call, attempt: str) -> Record | None:
        self.stale = self._ledger.find_live("invoke.age", call.namespace, call.key) if call.key else None
        now = self._ports.clock.now("invoke.age")
        self.over = self.stale is not None and _over(self._ledger, self.stale, now)
        return super().prepare(call, attempt)

    def may_replace(self, held: Record, now: Time) -> bool:
        aged = self.over and self.stale is not None and self.stale.reservation == held.reservation
        return aged or super().may_replace(held, now)


class _SeesThroughQuarantine(Observer):
    def decide(self, call: Call, record: Record | None, now: Time) -> str:
        if record is not None and _over(self._ledger, record, now):
            return "retire_then_candidate"
        return super().decide(call, record, now)


@RETENTION.plant("quarantine-is-dispatched-again", names="REPLAY-055", part="host", unguarded=True)
class QuarantineIsDispatchedAgain(MutationHost):
    """Lets a candidate replace a quarantined generation once a day has passed."""

    ledger_class = _RetiresQuarantine
    dispatcher_class = _ReplacesQuarantine
    observer_class = _SeesThroughQuarantine
