"""Faults about keys that really happened; spec/field.yaml has each under the id that its docstring names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from conformance.kit import StoreFailed, Time
from reference_impl.deviations.mutation_keys import _Finder
from reference_impl.mutation_host.admission import Admission
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.identity import canonical_json
from reference_impl.mutation_host.keys import CLASSIFICATION, Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Record
from reference_impl.planting import Collection
from reference_impl.store import Transaction

FIELD = Collection("mutation-host")


@FIELD.plant("field-a02-one-key-space", names="REPLAY-040", part="ledger")
class OneKeySpace(_Finder):
    """A02, P8: one space of keys for everybody, in which whoever comes later meets who came first."""

    where = "r.namespace IS NOT ? AND r.key = ?"

    def terms(self, namespace: str, key: str) -> tuple[str, ...]:
        del namespace
        return ("", key)


class _OtherText(Admission):
    """Writes the namespace of a key in another way."""

    def admit(self, context: Mapping[str, Any], request: Mapping[str, Any], deadline_mono_ms: int) -> Call:
        call = super().admit(context, request, deadline_mono_ms)
        return replace(call, namespace=self.text(json.loads(call.namespace)))

    def text(self, parts: list[Any]) -> str:
        """The namespace of these nine elements but the key."""
        raise NotImplementedError


@FIELD.plant("field-a30-nulls-dropped", names="REPLAY-039", part="admission")
class NullsDropped(_OtherText):
    """A30: leaves absent members out of the namespace, in place of writing null."""

    def text(self, parts: list[Any]) -> str:
        return canonical_json([part for part in parts if part is not None])


@FIELD.plant("field-br26-joined-by-a-delimiter", names="REPLAY-039", part="admission")
class JoinedByADelimiter(_OtherText):
    """BR-26, P10: joins the parts of the namespace by a colon, which the parts may hold themselves."""

    def text(self, parts: list[Any]) -> str:
        return canonical_json([":".join(str(part or "") for part in parts)])


@FIELD.plant("field-br27-key-cut", names="KEY-022", part="ledger")
class KeyCut(_Finder):
    """BR-27: the column holds thirty characters of a key, and what follows is cut off."""

    where = "r.namespace = ? AND substr(r.key, 1, 30) = substr(?, 1, 30)"


@FIELD.plant("field-br13-completed-is-sent-again", names="REPLAY-002", part="host")
class CompletedIsSentAgain(MutationHost):
    """BR-13: a duplicate of a finished call is answered from the record, and its outgoing request dispatched anew."""

    def look_up(self, call: Call, step: str, voice: Voice) -> Answer | None:
        answer = super().look_up(call, step, voice)
        if answer is not None and answer["status"] == "success":
            self.dispatcher.send(call)
        return answer


def _orphan(record: Record | None) -> bool:
    open_one = record is not None and record.state in ("Prepared", "Dispatching")
    return open_one and record is not None and (record.replay_expires_at or 0) == 0


class _TakesOver(Dispatcher):
    def may_replace(self, held: Record, now: Time) -> bool:
        return _orphan(held) or super().may_replace(held, now)


class _SeesOrphans(Observer):
    def decide(self, call: Call, record: Record | None, now: Time) -> str:
        same = record is not None and record.fingerprint == call.fingerprint
        return "new_candidate" if same and _orphan(record) else super().decide(call, record, now)


class _RetiresAnything(Ledger):
    def retire(self, tx: Transaction, reservation: str, namespace: str, key: str) -> bool:
        del namespace, key
        return tx.execute("UPDATE reservations SET state = 'Expired' WHERE reservation = ?", (reservation,)) == 1


@FIELD.plant("field-br18-no-deadline-is-expired", names="REPLAY-012", part="host", unguarded=True)
class NoDeadlineIsExpired(MutationHost):
    """BR-18: a reservation in progress has no expiry yet, which counts as one that has passed."""

    dispatcher_class = _TakesOver
    observer_class = _SeesOrphans
    ledger_class = _RetiresAnything


@FIELD.plant("field-br19-fingerprint-lost-at-completion", names="OBS-050", part="ledger")
class FingerprintLostAtCompletion(Ledger):
    """BR-19, P1a: writes the record of a finished call anew and without its fingerprint."""

    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        super().close_reservation(tx, attempt, state, now)
        if state == "Completed":
            tx.execute("UPDATE reservations SET fingerprint = '' WHERE attempt = ?", (attempt,))


@FIELD.plant("field-br21-waits-before-it-compares", names="REPLAY-041", part="observer")
class WaitsBeforeItCompares(Observer):
    """BR-21, P3b: looks whether the original is in progress first, and compares the requests when it has ended."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        seen: Record | None = record
        while seen is not None and seen.state not in CLASSIFICATION and seen.fingerprint != call.fingerprint:
            if self._ports.clock.now("observe.deadline").mono_ms >= call.deadline_mono_ms:
                return voice.unknown("timeout")
            self._ports.wait("command")
            try:
                seen = self._ledger.find_generation("observe.read", str(record.reservation))
            except StoreFailed:
                return voice.unknown("unavailable")
        return super().observe(call, seen or record, voice)


@FIELD.plant("field-br29-closing-frees-the-key", names="REPLAY-012", part="ledger", unguarded=True)
class ClosingFreesTheKey(Ledger):
    """BR-29: remembers a key for as long as its call is open, and forgets it with the outcome."""

    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        super().close_reservation(tx, attempt, state, now)
        if state in ("Completed", "Failed"):
            tx.execute("UPDATE reservations SET state = 'Expired' WHERE attempt = ?", (attempt,))


class _AdmitsHits(Admission):
    def recheck(self, call: Call) -> None:
        del call


@FIELD.plant("field-br30-hit-is-permission", names="REPLAY-047", part="host")
class HitIsPermission(MutationHost):
    """BR-30: looks a result up by caller and key ahead of the check of access, and shows what it finds."""

    admission_class = _AdmitsHits

    def invoke(self, context: Mapping[str, Any], request: Mapping[str, Any]) -> Answer:
        answer = super().invoke(context, request)
        key = request.get("idempotency_key")
        if answer.get("error", {}).get("code") != "forbidden" or "mutation" in answer or not isinstance(key, str):
            return answer
        voice = Voice(self._settings.current()["instance"], str(request.get("request_id")))
        sql = "SELECT attempt FROM attempts WHERE caller = ? AND key = ? AND state = 'Completed'"
        try:
            found = self._store.read("invoke.hit", sql, (context.get("caller"), key))
            return voice.replay(self.ledger.find_attempt("invoke.hit", found[0][0]), "applied") if found else answer
        except StoreFailed:
            return answer


class _Digests(Admission):
    """Makes the digest in the fingerprint from the bytes as they came."""

    def admit(self, context: Mapping[str, Any], request: Mapping[str, Any], deadline_mono_ms: int) -> Call:
        call = super().admit(context, request, deadline_mono_ms)
        raw = sha256(json.dumps(call.input, separators=(",", ":")).encode()).hexdigest()
        fingerprint = canonical_json({**json.loads(call.fingerprint), "input_digest": raw})
        return replace(call, fingerprint=fingerprint)


@FIELD.plant("field-p1b-member-order-counts", names="KEY-046", part="admission")
class MemberOrderCounts(_Digests):
    """P1b: digests the input as its members came, so that another order is another request."""


@FIELD.plant("field-p2b-body-in-the-key", names="REPLAY-041", part="admission")
class BodyInTheKey(Admission):
    """P2b: the input is a part of what a key is looked up by, so that another input finds nothing."""

    def admit(self, context: Mapping[str, Any], request: Mapping[str, Any], deadline_mono_ms: int) -> Call:
        call = super().admit(context, request, deadline_mono_ms)
        return replace(call, namespace=canonical_json([*json.loads(call.namespace), call.input_digest]))
