"""Deviations at the edges of a lease of connector push: ended too soon, stored too short, and held by more than one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from conformance.kit import Ports, Time
from reference_impl.connector.dispatch import Dispatcher
from reference_impl.connector.ledger import FREE, Ledger
from reference_impl.connector.model import Attempt, Raw
from reference_impl.connector.worker import Worker
from reference_impl.connector.writeback import Writeback
from reference_impl.planting import Collection
from reference_impl.store import Transaction

PUSH_EDGES = Collection("connector-push")
SHORT_MS = 5_000


# ATT-040. Given A claimed by W1, which died short of its checkpoint, and a second of its lease left; when W2 works;
# then A is pending, and W2 sends it.
@PUSH_EDGES.plant("lease-over-early", names="ATT-040", part="ledger")
class LeaseOverEarly(Ledger):
    """Takes a lease for over five seconds ahead of its end, so that clocks that differ cost no time."""

    def attempts_in(self, step: str, states: Sequence[str], lanes: Sequence[str]) -> list[Attempt]:
        return [_shortened(attempt) for attempt in super().attempts_in(step, states, lanes)]


def _shortened(attempt: Attempt) -> Attempt:
    due = attempt.lease_expires_at
    return attempt if due is None else replace(attempt, lease_expires_at=due - SHORT_MS)


# ATT-040. Given the same; when W2 works; then A is pending, though it was claimed less than a lease ago.
@PUSH_EDGES.plant("lease-stored-short", names="ATT-040", part="dispatcher")
class LeaseStoredShort(Dispatcher):
    """Stores the end of a lease five seconds short of what is configured."""

    def _lease(self, token: str, now: Time) -> dict[str, Any]:
        lease = super()._lease(token, now)
        return {**lease, "lease_expires_at": lease["lease_expires_at"] - SHORT_MS}


# ATT-040. Given A claimed by W1, which died or stands short of its checkpoint; when W2 works for the first time; then A
# is pending at once.
@PUSH_EDGES.plant("first-pass-clears-claims", names="ATT-040", part="worker")
class FirstPassClearsClaims(Worker):
    """The first pass of a process returns every unsent claim that it finds, as left behind by a dead one."""

    def __init__(self, ledger: Ledger, dispatcher: Dispatcher, writeback: Writeback, ports: Ports, config: Raw) -> None:
        super().__init__(ledger, dispatcher, writeback, ports, config)
        self._began = False

    def recover_expired(self, lanes: tuple[str, ...], tally: Counter[str], *, may_send: bool = True) -> None:
        if not self._began:
            self._began = True
            for attempt in self._ledger.attempts_in("reclaim.scan", ("processing",), lanes):
                self._return(attempt, tally)
        super().recover_expired(lanes, tally, may_send=may_send)

    def _return(self, attempt: Attempt, tally: Counter[str]) -> None:
        with self._store.transaction("reclaim.expired") as tx:
            when = "io_started_at IS NULL"
            tally["recover_unsent"] += self._ledger.move(
                tx, attempt.attempt, "recover_unsent", held_by=attempt.claim, when=when, **FREE
            )


# ATT-040. Given A claimed by W1, which died, and a clock that nobody attests past the lease; when W2 works; then A is
# pending, though hardly any time has gone by.
@PUSH_EDGES.plant("any-clock-ends-leases", names="ATT-040", part="worker")
class AnyClockEndsLeases(Worker):
    """Judges leases by the wall clock whether it is attested or not."""

    def recover_expired(self, lanes: tuple[str, ...], tally: Counter[str], *, may_send: bool = True) -> None:
        now = self._ports.clock.now("reclaim.scan")
        for attempt in self._ledger.attempts_in("reclaim.scan", ("processing",), lanes):
            over = attempt.lease_expires_at is not None and now.wall_ms > attempt.lease_expires_at
            if over and attempt.io_started_at is None:
                with self._store.transaction("reclaim.expired") as tx:
                    tally["recover_unsent"] += self._ledger.move(
                        tx, attempt.attempt, "recover_unsent", held_by=attempt.claim, **FREE
                    )
        super().recover_expired(lanes, tally, may_send=may_send)


# ATT-035. Given a replay contract, and W1's request at the remote; when W2 works while W1's lease runs; then W2 takes A
# over and sends beside it.
@PUSH_EDGES.plant("contract-needs-no-lease", names="ATT-035", part="ledger")
class ContractNeedsNoLease(Ledger):
    """Lets a worker repeat what may be repeated at any time, since the remote tells a repetition by its key."""

    def attempts_in(self, step: str, states: Sequence[str], lanes: Sequence[str]) -> list[Attempt]:
        found = super().attempts_in(step, states, lanes)
        return [replace(a, lease_expires_at=0) if _repeatable(a) else a for a in found]


def _repeatable(attempt: Attempt) -> bool:
    sent = attempt.io_started_at is not None and attempt.claim is not None
    return sent and attempt.replayable and attempt.remote_id is None


# ATT-035. Given A pending, seen by W1 and claimed by W2; when W1 goes on; then the claim is W1's, which sends.
@PUSH_EDGES.plant("claim-changes-hands", names="ATT-035", part="dispatcher")
class ClaimChangesHands(Dispatcher):
    """Claims a row by its id as long as nothing of it was sent, whoever has claimed it meanwhile."""

    def claim(self, attempt: str, lanes: tuple[str, ...]) -> str | None:
        token = self._ports.ids.new("dispatch.claim")
        now = self._ports.clock.now("dispatch.claim")
        lane = "lane IN ({})".format(", ".join(f"'{name}'" for name in lanes))
        sets = {"state": "processing", **self._lease(token, now)}
        sql = (
            f"UPDATE attempts SET {', '.join(f'{name} = ?' for name in sets)} WHERE attempt = ? AND {lane}"
            " AND state IN ('pending', 'processing') AND io_started_at IS NULL"
        )
        with self._store.transaction("dispatch.claim") as tx:
            won = tx.execute(sql, (*sets.values(), attempt)) == 1
        return token if won else None


# ATT-035. Given A sent and expired under a contract, and W1 about to take it over; when W2 has taken it over and its
# lease runs; then W1 takes it over as well.
@PUSH_EDGES.plant("takes-over-whoever-holds", names="ATT-035", part="ledger")
class TakesOverWhoeverHolds(Ledger):
    """Takes an expired attempt over without asking whose claim is on it by now."""

    def move(self, tx: Transaction, attempt: str, trigger: str, **values: Any) -> bool:
        if trigger == "take_over_for_replay":
            values.pop("held_by", None)
        return super().move(tx, attempt, trigger, **values)
