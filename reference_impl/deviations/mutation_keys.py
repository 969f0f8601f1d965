"""Deviations about keys: what a fingerprint or a namespace leaves out, and what a key's holder is taken for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from conformance.kit import StoreFailed, Time
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher, Winner
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.keys import CLASSIFICATION, Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import RECORD_SQL, Call, Record
from reference_impl.planting import Collection
from reference_impl.store import Row, Transaction

KEYS = Collection("mutation-host")


class _Blind(Observer):
    """Leaves one coordinate out when it compares fingerprints."""

    leaves_out = ""

    def decide(self, call: Call, record: Record | None, now: Time) -> str:
        return super().decide(call, record and self._blinded(call, record), now)

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        return super().observe(call, self._blinded(call, record), voice)

    def _blinded(self, call: Call, record: Record) -> Record:
        mine, its = json.loads(call.fingerprint), json.loads(record.fingerprint or "{}")
        same = {**its, self.leaves_out: None} == {**mine, self.leaves_out: None}
        return replace(record, fingerprint=call.fingerprint) if same else record


@KEYS.plant("operation-left-out", names="KEY-034", part="observer")
class OperationLeftOut(_Blind):
    """Compares fingerprints without the operation."""

    leaves_out = "operation"


@KEYS.plant("connection-left-out", names="KEY-035", part="observer")
class ConnectionLeftOut(_Blind):
    """Compares fingerprints without the connection."""

    leaves_out = "connection"


@KEYS.plant("revision-left-out", names="KEY-038", part="observer")
class RevisionLeftOut(_Blind):
    """Compares fingerprints without the revision of the description."""

    leaves_out = "descriptor_revision"


@KEYS.plant("request-id-counts", names="KEY-046", part="observer")
class RequestIdCounts(Observer):
    """Takes the request id for a part of the fingerprint."""

    def decide(self, call: Call, record: Record | None, now: Time) -> str:
        if record is not None and record.request_id != call.request_id:
            record = replace(record, fingerprint="another")
        return super().decide(call, record, now)

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        return super().observe(call, record, voice) if record.request_id == call.request_id else voice.conflict()


@KEYS.plant("unique-over-key-alone", names="KEY-022", part="ledger")
class UniqueOverKeyAlone(Ledger):
    """Its unique index is over the key alone, so that another namespace cannot reserve it."""

    def reserve(self, tx: Transaction, call: Call, attempt: str, reservation: str) -> None:
        if tx.query("SELECT 1 FROM reservations WHERE key = ? AND state <> 'Expired'", (call.key,)):
            raise StoreFailed("UNIQUE constraint failed: reservations.key")
        super().reserve(tx, call, attempt, reservation)


class _Finder(Ledger):
    """A ledger that finds the holder of a key by a look of its own."""

    where = "r.namespace = ? AND r.key = ?"

    def find_live(self, step: str, namespace: str, key: str) -> Record | None:
        sql = f"{RECORD_SQL} WHERE {self.where} AND r.state <> 'Expired'"
        return self.pick(self.store.read(step, sql, self.terms(namespace, key)), namespace)

    def find_live_within(self, tx: Transaction, namespace: str, key: str) -> Record | None:
        sql = f"{RECORD_SQL} WHERE {self.where} AND r.state <> 'Expired'"
        return self.pick(tx.query(sql, self.terms(namespace, key)), namespace)

    def terms(self, namespace: str, key: str) -> tuple[str, ...]:
        return (namespace, key)

    def pick(self, rows: Iterable[Row], namespace: str) -> Record | None:
        del namespace
        return next(map(Record.from_row, rows), None)


@KEYS.plant("folds-case", names="KEY-025", part="ledger")
class FoldsCase(_Finder):
    """Compares keys without regard to case."""

    where = "r.namespace = ? AND lower(r.key) = lower(?)"


@KEYS.plant("namespace-without-tenant", names="REPLAY-039", part="ledger")
class NamespaceWithoutTenant(_Finder):
    """Looks keys up in a namespace that leaves the tenant out."""

    where = "json_remove(r.namespace, '$[2]') = json_remove(?, '$[2]') AND r.key = ?"


@KEYS.plant("falls-back-to-key", names="REPLAY-040", part="ledger")
class FallsBackToKey(Ledger):
    """Looks for the key in every namespace when its own does not hold it."""

    def find_live(self, step: str, namespace: str, key: str) -> Record | None:
        found = super().find_live(step, namespace, key)
        if found is not None:
            return found
        rows = self.store.read(step, f"{RECORD_SQL} WHERE r.key = ? AND r.state <> 'Expired'", (key,))
        return Record.from_row(rows[0]) if rows else None


class _SendsAgain(Dispatcher):
    def may_replace(self, held: Record, now: Time) -> bool:
        return held.state == "Failed" or super().may_replace(held, now)


class _FailedIsFree(Observer):
    def decide(self, call: Call, record: Record | None, now: Time) -> str:
        failed = record is not None and record.state == "Failed"
        return "new_candidate" if failed else super().decide(call, record, now)


@KEYS.plant("failed-is-sent-again", names="REPLAY-002", part="host")
class FailedIsSentAgain(MutationHost):
    """Dispatches again when the original has Failed."""

    dispatcher_class = _SendsAgain
    observer_class = _FailedIsFree


@KEYS.plant("loser-hears-an-error", names="REPLAY-008", part="dispatcher")
class LoserHearsAnError(Dispatcher):
    """Reports the key that was reserved meanwhile as a failure of the store."""

    def attempt(self, call: Call, voice: Voice) -> Answer | Winner:
        outcome = super().attempt(call, voice)
        return voice.not_attempted("unavailable", None) if isinstance(outcome, Winner) else outcome


@KEYS.plant("duplicate-is-sent-away", names="REPLAY-013", part="observer")
class DuplicateIsSentAway(Observer):
    """Does not wait for an original that is under way."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        if record.fingerprint == call.fingerprint and record.state not in CLASSIFICATION:
            return voice.unknown("unavailable", record.attempt, record.request_id)
        return super().observe(call, record, voice)


class _QuarantineIsFree(Observer):
    def decide(self, call: Call, record: Record | None, now: Time) -> str:
        action = super().decide(call, record, now)
        free = action == "conflict" and record is not None and record.reservation_state == "Quarantined"
        return "new_candidate" if free else action


class _ReservesBeside(Ledger):
    def find_live_within(self, tx: Transaction, namespace: str, key: str) -> Record | None:
        found = super().find_live_within(tx, namespace, key)
        return None if found is not None and found.reservation_state == "Quarantined" else found


@KEYS.plant("quarantine-is-free", names="REPLAY-041", part="host", unguarded=True)
class QuarantineIsFree(MutationHost):
    """Takes a quarantined key for free when another request comes under it."""

    observer_class = _QuarantineIsFree
    ledger_class = _ReservesBeside


@KEYS.plant("quarantine-conflicts", names="REPLAY-054", part="observer")
class QuarantineConflicts(Observer):
    """Answers the exact request under a quarantined key with a conflict."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        return voice.conflict() if record.reservation_state == "Quarantined" else super().observe(call, record, voice)
