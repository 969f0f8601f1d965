"""What a key's reservation means to a caller: the replay boundary table applied to one read (mutation-profile 5.1)."""

from __future__ import annotations

from conformance.kit import Ports, StoreFailed, Time
from reference_impl.mutation_host.admission import Admission
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Record
from statemachines.model import Table

#: What a settled attempt says, also while its reservation lags behind as Pending.
CLASSIFICATION = {
    "Completed": "applied",
    "Failed": "refused",
    "Aborted": "not_attempted",
    "Indeterminate": "unknown",
}


def is_expired(record: Record, now: Time) -> bool:
    """Whether this generation may be retired: a known result, past its time by a trusted clock."""
    due = record.replay_expires_at
    return record.reservation_state == "Replayable" and now.trusted and due is not None and now.wall_ms >= due


def reservation_column(record: Record | None, now: Time) -> str:
    """The value of the table's ``reservation`` column for one read."""
    if record is None:
        return "none"
    if is_expired(record, now):
        return "expired"
    if record.reservation_state == "Pending":
        return "pending"
    if record.reservation_state == "Quarantined":
        return "quarantined"
    due = record.replay_expires_at
    return "expiry_uncertain" if due is not None and now.wall_ms >= due else "replayable"


class Observer:
    """Answers calls whose key is held by another attempt; it never touches that attempt."""

    def __init__(self, ledger: Ledger, ports: Ports, boundary: Table, admission: Admission) -> None:
        self._ledger = ledger
        self._ports = ports
        self._boundary = boundary
        self._admission = admission

    def decide(self, call: Call, record: Record | None, now: Time) -> str:
        """The action of the replay boundary table for an admitted, fresh call whose index could be read."""
        equal = record is None or record.fingerprint == call.fingerprint
        decision = self._boundary.decide(
            access="current",
            revision="current",
            index="readable",
            reservation=reservation_column(record, now),
            fingerprint="equal" if equal else "different",
        )
        return str(decision["action"])

    def unread(self, call: Call, voice: Voice) -> Answer:
        """The key of ``call`` could not be looked up: that is never the same as absence."""
        del call
        return voice.unknown("unavailable")

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        """Wait for the original's terminal record and replay it, bound to the generation that was found.

        Access is checked once more whenever there is something to tell; raises Denied when it is gone by then.
        """
        answer = self._watch(call, record, voice)
        self._admission.recheck(call)
        return answer

    def _watch(self, call: Call, record: Record, voice: Voice) -> Answer:
        if record.fingerprint != call.fingerprint:
            return voice.conflict()
        seen: Record | None = record
        while True:
            if seen is None:
                return voice.unknown("unavailable")
            if seen.state in CLASSIFICATION:
                return voice.replay(seen, CLASSIFICATION[seen.state])
            if self._ports.clock.now("observe.deadline").mono_ms >= call.deadline_mono_ms:
                return voice.unknown("timeout", seen.attempt, seen.request_id)
            self._ports.wait("command")
            try:
                seen = self._ledger.find_generation("observe.read", str(record.reservation))
            except StoreFailed:
                return voice.unknown("unavailable")
