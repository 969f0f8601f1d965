"""One pass of a worker: recover what expired, send what is pending, finish what has its remote id.

The lanes of the worker are in every claim and every recovery, never only in the scan.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from conformance.kit import AckLost, Ports, StoreFailed
from reference_impl.connector.dispatch import Dispatcher
from reference_impl.connector.ledger import FREE, Ledger, expired
from reference_impl.connector.metadata import holds
from reference_impl.connector.model import CONFIGURED, DEFERRED, LANES, Attempt, Raw
from reference_impl.connector.writeback import Writeback


class Worker:
    """The general and the narrow worker, and the recovery step of configured rows."""

    def __init__(self, ledger: Ledger, dispatcher: Dispatcher, writeback: Writeback, ports: Ports, config: Raw) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._dispatcher = dispatcher
        self._writeback = writeback
        self._ports = ports
        self._config = config

    def work(self, kind: str) -> dict[str, Any]:
        """One pass in the lanes of this kind of worker; each row is taken up once at most."""
        if kind == "general" and not self._config["workers"]["general"]:
            return {"status": "refused", "reason": "worker_disabled"}
        lanes = LANES[kind]
        tally: Counter[str] = Counter()
        try:
            self.recover_expired(lanes, tally)
            self.send_pending(lanes, tally)
            self.finish(lanes, tally)
        except (StoreFailed, AckLost):
            return {"status": "unavailable", "counts": dict(tally)}
        return {"status": "done", "counts": dict(tally)}

    def recover(self) -> dict[str, Any]:
        """The stand-alone recovery step: configured rows only, and it sends nothing."""
        tally: Counter[str] = Counter()
        try:
            self.recover_expired((CONFIGURED,), tally, may_send=False)
            self.finish((CONFIGURED,), tally)
        except (StoreFailed, AckLost):
            return {"status": "unavailable", "counts": dict(tally)}
        return {"status": "done", "counts": dict(tally)}

    def recover_expired(self, lanes: tuple[str, ...], tally: Counter[str], *, may_send: bool = True) -> None:
        """Decide the fate of every claim whose lease is over."""
        now = self._ports.clock.now("reclaim.scan")
        for attempt in self._ledger.attempts_in("reclaim.scan", ("processing", "post_sent"), lanes):
            if not expired(attempt, now):
                continue
            if attempt.io_started_at is not None and attempt.replayable:
                if may_send and holds(self._config, attempt) is None:
                    tally[str(self._dispatcher.replay(attempt)["status"])] += 1
                continue
            trigger = self.verdict(attempt)
            reason, still = ("outcome_unknown", "") if trigger == "recover_sent" else (None, "io_started_at IS NULL")
            fate: dict[str, Any] = {"reason": reason, **FREE}
            with self._store.transaction("reclaim.expired") as tx:
                moved = self._ledger.move(tx, attempt.attempt, trigger, held_by=attempt.claim, when=still, **fate)
            tally[trigger] += moved

    def verdict(self, attempt: Attempt) -> str:
        """What an expired claim proves: without a checkpoint nothing was sent, with one nobody knows."""
        unsent = attempt.state == "processing" and attempt.io_started_at is None
        return "recover_unsent" if unsent else "recover_sent"

    def send_pending(self, lanes: tuple[str, ...], tally: Counter[str]) -> None:
        """Carry every pending attempt that nothing holds."""
        for attempt in self._ledger.attempts_in("work.scan", ("pending",), lanes):
            if self.waits(attempt):
                tally["held"] += 1
            else:
                tally[str(self._dispatcher.carry(attempt.attempt, lanes)["status"])] += 1

    def waits(self, attempt: Attempt) -> bool:
        """Whether drift holds the attempt, or an association target has no finalized link yet."""
        if holds(self._config, attempt) is not None:
            return True
        return attempt.lane == DEFERRED and not self.targets_ready(attempt)

    def targets_ready(self, attempt: Attempt) -> bool:
        """Whether every association target of the frozen vector has its finalized link."""
        targets = [a["link_key"] for a in attempt.associations if a["record"]]
        return all(self._ledger.remote_id_of("dispatch.targets", key) is not None for key in targets)

    def finish(self, lanes: tuple[str, ...], tally: Counter[str]) -> None:
        """Take up every row whose POST is over and that nobody holds."""
        now = self._ports.clock.now("work.scan")
        for attempt in self.unfinished(lanes):
            if not expired(attempt, now):
                continue
            claim = self._writeback.claim(attempt)
            if claim is not None:
                tally[str(self._writeback.complete(attempt, claim)["status"])] += 1

    def unfinished(self, lanes: tuple[str, ...]) -> list[Attempt]:
        """The rows whose POST is over and whose writeback is not."""
        states = ("writeback_commit_pending", "writeback_pending")
        return self._ledger.attempts_in("work.scan", states, lanes)
