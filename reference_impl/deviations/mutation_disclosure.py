"""Deviations that show too much to whoever is denied, or take a spent approval for a send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.kit import AckLost, StoreFailed
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.identity import namespace
from reference_impl.mutation_host.model import Record
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import Collection

DISCLOSURE = Collection("mutation-host")


class _Peeking(MutationHost):
    """A host that looks a denied caller's key up all the same."""

    def invoke(self, context: Mapping[str, Any], request: Mapping[str, Any]) -> Answer:
        answer = super().invoke(context, request)
        # To tell used keys from fresh ones it has to look: the one read that the reference does not make.
        denied = "mutation" not in answer and answer.get("error", {}).get("code") in ("forbidden", "not_found")
        if not denied or not request.get("idempotency_key"):
            return answer
        place = namespace(self._settings.current()["instance"], context)
        try:
            record = self.ledger.find_live("invoke.lookup", place, request["idempotency_key"])
        except StoreFailed:
            return answer
        return answer if record is None else self.reveal(answer, record)

    def reveal(self, answer: Answer, record: Record) -> Answer:
        """What is made of the refusal under a used key."""
        raise NotImplementedError


@DISCLOSURE.plant("denial-shows-the-attempt", names="OBS-010", part="host")
class DenialShowsTheAttempt(_Peeking):
    """Refuses a replay without access, and adds the id of the attempt for support."""

    def reveal(self, answer: Answer, record: Record) -> Answer:
        voice = Voice(self._settings.current()["instance"], answer["request_id"])
        known = voice.unknown(None, record.attempt, record.request_id)
        return {**answer, "mutation": known["mutation"]}


@DISCLOSURE.plant("denial-differs-by-key", names="OBS-011", part="host")
class DenialDiffersByKey(_Peeking):
    """Refuses a replay without access by another code than a fresh call."""

    def reveal(self, answer: Answer, record: Record) -> Answer:
        del record
        return {**answer, "error": {"code": "not_found"}}


@DISCLOSURE.plant("spent-means-sent", names="OBS-038", part="supervisor", unguarded=True)
class SpentMeansSent(Supervisor):
    """Recovery takes an attempt whose approval was spent for one that may have been sent."""

    def _settle(self, record: Record, trigger: str, state: str, cause: str | None) -> bool:
        if record.state != "Prepared":
            return super()._settle(record, trigger, state, cause)
        now = self._ports.clock.now("recover.settle")
        try:
            with self._store.transaction("recover.settle") as tx:
                spent = bool(tx.query("SELECT 1 FROM spends WHERE attempt = ?", (record.attempt,)))
                state = "Indeterminate" if spent else state
                sql = "UPDATE attempts SET state = ?, cause = ? WHERE attempt = ? AND state = 'Prepared'"
                won = tx.execute(sql, (state, cause, record.attempt)) == 1
                if won:
                    self._ledger.close_reservation(tx, record.attempt, state, now)
                return won
        except (StoreFailed, AckLost):
            return False
