"""One attempt from its claim to the remote's answer: the only code that ever sends.

Before the request everything is decided under the claim; the checkpoint is the last commit before it. After it,
nothing leads back to a POST but a contract that was frozen before.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from conformance.kit import AckLost, Ports, RemoteAnswer, RemoteUnknown, StoreFailed, Time
from reference_impl.connector.ledger import FREE, Ledger
from reference_impl.connector.model import DEFERRED, Answer, Attempt, Raw, canonical_json
from reference_impl.connector.writeback import Writeback
from reference_impl.store import Transaction

Result = dict[str, Any]

#: The source must exist and no link may stand beside the attempt, in the very statement that writes the checkpoint.
SOURCE = (
    "EXISTS (SELECT 1 FROM records r WHERE r.object = attempts.object AND r.id = attempts.record AND r.deleted = 0)"
)
FIT = f"{SOURCE} AND NOT EXISTS (SELECT 1 FROM links l WHERE l.link_key = attempts.link_key)"


class Dispatcher:
    """Carries claimed attempts to the remote and its answers back onto the rows."""

    #: Where a captured id leaves the attempt.
    staged_state = "writeback_commit_pending"

    def __init__(self, ledger: Ledger, writeback: Writeback, ports: Ports, workers: Raw) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._writeback = writeback
        self._ports = ports
        self._lease_ms = int(workers["lease_ms"])
        self._request_ms = int(workers["request_ms"])

    def carry(self, attempt: str, lanes: tuple[str, ...]) -> Result:
        """Claim a pending attempt, and send it once."""
        try:
            claim = self.claim(attempt, lanes)
            if claim is None:
                return {"status": "blocked", "attempt": attempt, "reason": "claimed"}
            held = self._ledger.attempt("dispatch.read_back", attempt)
            if held.lane == DEFERRED:
                held = self.freeze(held, claim)
            if not self.checkpoint(attempt, claim):
                return self._unfit(attempt, claim)
        except (StoreFailed, AckLost):
            # Not sent. The lease runs out, and the checkpoint tells whoever recovers the row what may have happened.
            return {"status": "unknown", "attempt": attempt, "reason": "unavailable"}
        return self.conclude(held, claim, self.send(held))

    def claim(self, attempt: str, lanes: tuple[str, ...]) -> str | None:
        """Take the lease; None when somebody else was first."""
        token = self._ports.ids.new("dispatch.claim")
        now = self._ports.clock.now("dispatch.claim")
        lane = "lane IN ({})".format(", ".join(f"'{name}'" for name in lanes))
        with self._store.transaction("dispatch.claim") as tx:
            won = self._ledger.move(tx, attempt, "claim", held_by=None, when=lane, **self._lease(token, now))
        return token if won else None

    def freeze(self, held: Attempt, claim: str) -> Attempt:
        """Complete a deferred body with its targets' remote ids, from the frozen vector and no lookup field."""
        found = {a["target"]: self._ledger.remote_id_of("dispatch.targets", a["link_key"]) for a in held.associations}
        body = {**held.body, **{target: value for target, value in found.items() if value is not None}}
        with self._store.transaction("dispatch.freeze") as tx:
            self._ledger.move(tx, held.attempt, "freeze_body", held_by=claim, body=canonical_json(body))
        return replace(held, body=body)

    def checkpoint(self, attempt: str, claim: str) -> bool:
        """Write down that remote I/O begins; False when the claim is lost, the lease over or the attempt unfit."""
        now = self._ports.clock.now("dispatch.checkpoint")
        when = f"io_started_at IS NULL AND lease_expires_at > {now.wall_ms} AND {FIT}"
        with self._store.transaction("dispatch.checkpoint") as tx:
            return self._ledger.move(
                tx, attempt, "write_checkpoint", held_by=claim, when=when, io_started_at=now.wall_ms, sends=1
            )

    def _unfit(self, attempt: str, claim: str) -> Result:
        """The checkpoint was refused: fail the attempt if its source is gone, else leave it to the lease."""
        gone = f"io_started_at IS NULL AND NOT {SOURCE}"
        with self._store.transaction("dispatch.refuse") as tx:
            failed = self._ledger.move(
                tx, attempt, "fail_before_send", held_by=claim, when=gone, reason="source_gone", **FREE
            )
        return {"status": "failed", "attempt": attempt, "reason": "source_gone"} if failed else _lost(attempt)

    def replay(self, attempt: Attempt) -> Result:
        """Take over an attempt whose outcome is unknown and repeat its frozen request, as its contract allows."""
        token = self._ports.ids.new("replay.take")
        now = self._ports.clock.now("replay.take")
        when = "io_started_at IS NOT NULL AND remote_id IS NULL"
        lease = {**self._lease(token, now), "sends": attempt.sends + 1}
        try:
            with self._store.transaction("replay.take") as tx:
                won = self._ledger.move(
                    tx, attempt.attempt, "take_over_for_replay", held_by=attempt.claim, when=when, **lease
                )
        except (StoreFailed, AckLost):
            return {"status": "unknown", "attempt": attempt.attempt, "reason": "unavailable"}
        if not won:
            return _lost(attempt.attempt)
        held = replace(attempt, claim=token, sends=attempt.sends + 1)
        return self.conclude(held, token, self.send(held))

    def send(self, held: Attempt) -> Answer:
        """The one request, exactly as frozen."""
        deadline = self._ports.clock.now("dispatch.send").mono_ms + self._request_ms
        try:
            answer = self._ports.remote.send("dispatch.send", held.request, deadline)
        except RemoteUnknown:
            return Answer("lost")
        return weigh(held, answer)

    def conclude(self, held: Attempt, claim: str, answer: Answer) -> Result:
        """Bring the answer onto the row, then go on to link and mirror."""
        try:
            status = self.capture(held, claim, answer)
        except (StoreFailed, AckLost):
            return {"status": "unknown", "attempt": held.attempt, "reason": "unavailable"}
        if status != "staged":
            return {"status": status, "attempt": held.attempt}
        return self._writeback.complete(replace(held, state=self.staged_state, remote_id=answer.remote_id), claim)

    def capture(self, held: Attempt, claim: str, answer: Answer) -> str:
        """Make the answer durable: ``staged``, ``failed``, ``ambiguous``, ``retrying``, or ``fenced``."""
        if answer.kind == "lost":
            return self.lose(held, claim)
        seen: dict[str, Any] = {"response_status": answer.status, "response_digest": answer.body_digest}
        noted = self.note(held, claim, seen)
        if answer.kind == "rejection":
            with self._store.transaction("dispatch.fail") as tx:
                failed = self._ledger.move(
                    tx, held.attempt, "fail_definitely", held_by=claim, reason="rejected", **FREE
                )
            return "failed" if failed else "fenced"
        staged = self.stage(held, claim, str(answer.remote_id)) if noted else "fenced"
        if staged == "fenced":
            self.keep_late(held, str(answer.remote_id))
        return staged

    def note(self, held: Attempt, claim: str, seen: Raw) -> bool:
        """Keep that an answer came; False when the claim is lost."""
        with self._store.transaction("dispatch.note") as tx:
            return self._ledger.move(tx, held.attempt, "note_sent", held_by=claim, **seen) or held.state == "post_sent"

    def lose(self, held: Attempt, claim: str) -> str:
        """Nobody knows the outcome: ambiguous for good, unless the frozen contract lets the request be repeated."""
        trigger, status = ("release_for_replay", "retrying") if held.replayable else ("lose_outcome", "ambiguous")
        reason = None if held.replayable else "outcome_unknown"
        with self._store.transaction("dispatch.lose") as tx:
            done = self._ledger.move(tx, held.attempt, trigger, held_by=claim, reason=reason, **FREE)
        return status if done else "fenced"

    def stage(self, held: Attempt, claim: str, remote_id: str) -> str:
        """Make the remote id durable; from here on POST is over. An id that is taken fails the attempt instead."""
        canonical = held.canonical(remote_id)
        ids: dict[str, Any] = {"remote_id": remote_id, "canonical_id": canonical}
        with self._store.transaction("dispatch.capture") as tx:
            if self.taken(tx, held, canonical):
                kept = {**ids, "reason": "locator_conflict", **FREE}
                failed = self._ledger.move(tx, held.attempt, "fail_on_locator", held_by=claim, **kept)
                return "failed" if failed else "fenced"
            return "staged" if self._ledger.move(tx, held.attempt, "stage_result", held_by=claim, **ids) else "fenced"

    def taken(self, tx: Transaction, held: Attempt, canonical: str) -> bool:
        """Whether the remote id already belongs to another record."""
        return self._ledger.locator_owner(tx, held, canonical) is not None

    def keep_late(self, held: Attempt, remote_id: str) -> None:
        """The claim was lost meanwhile: keep the id as evidence for a reconciliation, and move nothing."""
        with self._store.transaction("dispatch.keep_late") as tx:
            self._ledger.move(
                tx, held.attempt, "keep_late_answer", when="late_remote_id IS NULL", late_remote_id=remote_id
            )

    def _lease(self, token: str, now: Time) -> dict[str, Any]:
        return {"claim": token, "worker": self._ports.actor, "lease_expires_at": now.wall_ms + self._lease_ms}


def weigh(held: Attempt, answer: RemoteAnswer) -> Answer:
    """Judge a complete answer by the frozen contract: an id at its path, a declared rejection, or nothing known."""
    body = hashlib.sha256(answer.body).hexdigest()
    if 200 <= answer.status < 300:
        value: Any = answer.json()
        for name in str(held.contract["response_id_path"]).split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return Answer("id", str(value), answer.status, body)
    elif answer.status in held.contract["rejections"] and held.sends <= 1:
        # A rejection of a repetition says nothing about the request before it.
        return Answer("rejection", None, answer.status, body)
    return Answer("lost", None, answer.status, body)


def _lost(attempt: str) -> Result:
    return {"status": "blocked", "attempt": attempt, "reason": "claim_lost"}
