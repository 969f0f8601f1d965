"""The second set of deviations of connector push. Above each class: an interleaving that shows its fault."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from conformance.kit import AckLost, Ports, Setup, StoreFailed
from reference_impl.connector.dispatch import Dispatcher, Result
from reference_impl.connector.ledger import Ledger, expired
from reference_impl.connector.metadata import Refused, resolve
from reference_impl.connector.model import CONFIGURED, DEFERRED, Answer, Attempt, Raw, canonical_json
from reference_impl.connector.runtime import Connector
from reference_impl.connector.saver import Candidate, Reserved, Saver
from reference_impl.connector.worker import Worker
from reference_impl.connector.writeback import Writeback
from reference_impl.planting import HOST, Collection
from reference_impl.store import Store, Transaction
from statemachines.spec import Spec

SECOND = Collection("connector-push")


def _columns(ports: Ports, candidate: Candidate) -> dict[str, Any]:
    """What a reservation freezes beside the action itself, as the saver writes it."""
    decided = ports.clock.now("save.reserve").wall_ms
    return {
        "record": candidate.record,
        "lane": candidate.lane,
        "idempotency_key": ports.ids.new("save.reserve"),
        "body": canonical_json(candidate.body),
        "associations": canonical_json(candidate.associations),
        "authority": canonical_json({**candidate.authority, "decided_at": decided}),
        "mirror": canonical_json(candidate.expected) if candidate.expected else None,
    }


# ATT-004. Given no rows for K; when R is saved and save.reserve commits but its acknowledgement is lost; then the
# second insert makes another pending row of K beside the first: two active attempts.
@SECOND.plant("reservation-retried-unseen", names="ATT-004", part="saver", unguarded=True)
class ReservationRetriedUnseen(Saver):
    """A reservation whose acknowledgement was lost is inserted once more, under a new id and without looking first."""

    def reserve(self, candidate: Candidate) -> Reserved | dict[str, Any]:
        """The key was free a moment ago, so the second try does not ask again."""
        try:
            return super().reserve(candidate)
        except AckLost:
            attempt = self._ports.ids.new("save.reserve")
            columns = _columns(self._ports, candidate)
            with self._store.transaction("save.reserve") as tx:
                self._ledger.reserve(tx, attempt, candidate.key, candidate.action, columns)
            return Reserved(attempt, candidate.lane)


# ATT-004. Given R's attempt pending in the deferred lane, waiting for the link of C; when R's lookup is emptied (or set
# to a linked record) and R is saved again; then a configured attempt of the same K is reserved: two active attempts.
@SECOND.plant("occupied-by-lane", names="ATT-004", part="saver", unguarded=True)
class OccupiedByLane(Saver):
    """A waiting deferred attempt does not occupy the key for a save whose edited lookup needs no waiting any more."""

    def save(self, pack: Raw, raw: Raw, record: str, user: str) -> Reserved | dict[str, Any]:
        """Blocked as ever, unless this save would go another lane to another target than the row that waits there."""
        said = super().save(pack, raw, record, user)
        if isinstance(said, Reserved) or said.get("reason") != "pending" or not raw.get("associations"):
            return said
        try:
            action = resolve(pack, raw)
            waiting = self._ledger.attempt("save.observe", said["attempt"])
            candidate = self.admit(action, action.key_of(record), record, user)
            if waiting.lane != DEFERRED or candidate.lane == DEFERRED or _targets(candidate) == _targets(waiting):
                return said
            attempt = self._ports.ids.new("save.reserve")
            columns = _columns(self._ports, candidate)
            with self._store.transaction("save.reserve") as tx:
                self._ledger.reserve(tx, attempt, candidate.key, action, columns)
            return Reserved(attempt, candidate.lane)
        except (Refused, StoreFailed):
            return said
        except AckLost:
            return {"status": "unknown", "reason": "unavailable"}


def _targets(frozen: Candidate | Attempt) -> list[str]:
    return [a["record"] for a in frozen.associations]


# ATT-015. Given W1 paused right after dispatch.claim, its lease over, and A reclaimed and claimed by W2, which has not
# written its checkpoint yet; when W1 goes on; then it reads W2's token back, writes the checkpoint with it and sends.
@SECOND.plant("claim-read-back", names="ATT-015", part="dispatcher")
class ClaimReadBack(Dispatcher):
    """After claiming, a worker goes on with the token that it reads back from the row, whosever that is by now."""

    def carry(self, attempt: str, lanes: tuple[str, ...]) -> Result:
        """Claim a pending attempt, and send it once."""
        try:
            claim = self.claim(attempt, lanes)
            if claim is None:
                return {"status": "blocked", "attempt": attempt, "reason": "claimed"}
            held = self._ledger.attempt("dispatch.read_back", attempt)
            claim = held.claim or claim
            if held.lane == DEFERRED:
                held = self.freeze(held, claim)
            if not self.checkpoint(attempt, claim):
                return self._unfit(attempt, claim)
        except (StoreFailed, AckLost):
            return {"status": "unknown", "attempt": attempt, "reason": "unavailable"}
        return self.conclude(held, claim, self.send(held))


# ATT-016. Given a deferred A whose target is linked by now; when the worker crashes, or the store fails, at
# dispatch.freeze; then RemoteIOStartedAt is set although the body was never frozen and nothing was about to be sent.
@SECOND.plant("checkpoint-ahead-of-body", names="ATT-016", part="dispatcher")
class CheckpointAheadOfBody(Dispatcher):
    """In the deferred lane the checkpoint commits before the body is completed with its association targets."""

    def carry(self, attempt: str, lanes: tuple[str, ...]) -> Result:
        """Claim a pending attempt, and send it once."""
        try:
            claim = self.claim(attempt, lanes)
            if claim is None:
                return {"status": "blocked", "attempt": attempt, "reason": "claimed"}
            held = self._ledger.attempt("dispatch.read_back", attempt)
            if not self.checkpoint(attempt, claim):
                return self._unfit(attempt, claim)
            if held.lane == DEFERRED:
                held = self.freeze(held, claim)
        except (StoreFailed, AckLost):
            return {"status": "unknown", "attempt": attempt, "reason": "unavailable"}
        return self.conclude(held, claim, self.send(held))


# POST-023. Given A1 of K failed and was superseded, and A2, reserved on the strength of that, failed terminally too;
# when R is saved; then the old act on record opens the gate again: A3 is reserved and sent, A2 not being superseded.
@SECOND.plant("one-act-opens-for-good", names="POST-023", part="ledger", unguarded=True)
class OneActOpensForGood(Ledger):
    """Once a supersede is on record for a link key, no later failed attempt of that key blocks a save any more."""

    def _occupant_sql(self) -> str:
        return (
            super()._occupant_sql() + " AND NOT (state = 'terminal_failed' AND EXISTS (SELECT 1 FROM acts"
            " WHERE acts.act = 'supersede' AND acts.link_key = attempts.link_key))"
        )


@dataclass(frozen=True, slots=True)
class _Unwritten(Reserved):
    """A reservation that is known not to have survived."""

    candidate: Candidate


class _SendsAhead(Dispatcher):
    def ahead(self, c: Candidate) -> Result:
        """Send from memory, then write row, claim, checkpoint and answer."""
        raw, columns = c.action.raw, _columns(self._ports, c)
        attempt, claim = self._ports.ids.new("save.reserve"), self._ports.ids.new("dispatch.claim")
        now = self._ports.clock.now("dispatch.claim")
        held = Attempt(
            attempt, c.key, raw["source_object"], c.record, raw["slot"], raw["destination_slot"], "processing", c.lane,
            claim, now.wall_ms + self._lease_ms, now.wall_ms, 1, columns["idempotency_key"], raw["create_path"],
            c.body, c.associations, c.action.frozen(), c.action.names(), c.action.contract(), c.expected, None, 0, None,
        )  # fmt: skip
        answer = self.send(held)
        try:
            with self._store.transaction("save.reserve") as tx:
                if self._ledger.occupant_within(tx, c.key) is not None:
                    return {"status": "blocked", "reason": "occupied"}
                self._ledger.reserve(tx, attempt, c.key, c.action, columns)
                self._ledger.move(tx, attempt, "claim", held_by=None, **self._lease(claim, now))
                self._ledger.move(tx, attempt, "write_checkpoint", held_by=claim, io_started_at=now.wall_ms, sends=1)
        except (StoreFailed, AckLost):
            return {"status": "unknown", "reason": "unavailable"}
        return self.conclude(held, claim, answer)


class _LooksAgain(Saver):
    def reserve(self, candidate: Candidate) -> Reserved | dict[str, Any]:
        """After a lost acknowledgement, see whether the row of a synchronous save is there."""
        try:
            return super().reserve(candidate)
        except AckLost:
            direct = candidate.action.raw["dispatch"] == "synchronous" and candidate.lane == CONFIGURED
            if direct and self._ledger.occupant("save.observe", candidate.key) is None:
                return _Unwritten("", candidate.lane, candidate)
            raise


# POST-028. Given no rows and a synchronous action; when the commit of save.reserve is rolled back and its
# acknowledgement lost; then the POST goes out with no row of K in the store, and a crash there leaves no trace of it.
@SECOND.plant("row-written-with-answer", names="POST-028", part=HOST)
class RowWrittenWithAnswer(Connector):
    """A synchronous save that finds its unacknowledged reservation gone sends first and writes the row afterwards."""

    saver_class = _LooksAgain
    dispatcher_class = _SendsAhead

    def _send_or_leave(self, reserved: Reserved, action: Raw) -> dict[str, Any]:
        if isinstance(reserved, _Unwritten) and isinstance(self.dispatcher, _SendsAhead):
            return self.dispatcher.ahead(reserved.candidate)
        return super()._send_or_leave(reserved, action)


# POST-031. Given X staged on A and a crash (or a failed commit) before writeback.link; when the next worker claims A;
# then A is writeback_pending as of writeback.claim, while its link comes with writeback.link only: look between them.
@SECOND.plant("promoted-while-claimed", names="POST-031", part="writeback")
class PromotedWhileClaimed(Writeback):
    """A staged row that a worker resumes is promoted in the claiming transaction, and its link follows in the next."""

    def claim(self, held: Attempt) -> str | None:
        """Take the lease of a row whose POST is over, and take a staged one on at once."""
        if held.state != "writeback_commit_pending":
            return super().claim(held)
        token = self._ports.ids.new("writeback.claim")
        now = self._ports.clock.now("writeback.claim")
        when = "io_started_at IS NOT NULL AND remote_id IS NOT NULL"
        with self._store.transaction("writeback.claim") as tx:
            lease = self._lease(token, now)
            won = self._ledger.move(tx, held.attempt, "promote_writeback", held_by=held.claim, when=when, **lease)
        return token if won else None

    def complete(self, held: Attempt, claim: str) -> dict[str, Any]:
        """Finish an attempt, looking for its link whatever its state."""
        return super().complete(replace(held, state="writeback_commit_pending"), claim)

    def link(self, held: Attempt, claim: str) -> bool:
        """Finalize the link, unless an earlier claim did."""
        link = self._ports.ids.new("writeback.link")
        with self._store.transaction("writeback.link") as tx:
            ours = self._ledger.move(tx, held.attempt, "activate_writeback", held_by=claim)
            ours = ours or self._ledger.owns(tx, held.attempt, claim, "writeback_pending")
            if ours and not tx.query("SELECT 1 FROM links WHERE attempt = ?", (held.attempt,)):
                self._ledger.insert_link(tx, link, held, str(held.remote_id))
            return ours


# POST-032. Given no replay contract and 429 or 503 not declared as rejections; when the remote applies the request and
# answers 503 (a gateway in front of it gave up); then the same claim sends a second POST at once.
@SECOND.plant("busy-answer-repeated", names="POST-032", part="dispatcher")
class BusyAnswerRepeated(Dispatcher):
    """The client repeats a request once when the answer is 429 or 503, taking both as proof that nothing was done."""

    def send(self, held: Attempt) -> Answer:
        """The request, and once more for a remote that says it is busy."""
        answer = super().send(held)
        if answer.kind == "lost" and answer.status in (429, 503) and held.contract["replay"] is None:
            return super().send(held)
        return answer


# POST-032. Given no replay contract; when the remote created the record and dispatch.note or dispatch.capture then
# fails definitely; then the retry takes in the request and not the write alone: a second POST, a second remote record.
@SECOND.plant("retry-takes-in-request", names="POST-032", part="dispatcher")
class RetryTakesInRequest(Dispatcher):
    """When the store refuses to keep the answer, the step is tried once more from the request on."""

    def conclude(self, held: Attempt, claim: str, answer: Answer) -> Result:
        """Bring the answer onto the row, with a second try for a store that was away for a moment."""
        unknown = {"status": "unknown", "attempt": held.attempt, "reason": "unavailable"}
        try:
            status = self.capture(held, claim, answer)
        except AckLost:
            return unknown
        except StoreFailed:
            if held.contract["replay"] is not None:
                return unknown
            return super().conclude(replace(held, state="post_sent"), claim, self.send(held))
        if status != "staged":
            return {"status": status, "attempt": held.attempt}
        return self._writeback.complete(replace(held, state=self.staged_state, remote_id=answer.remote_id), claim)


class _Informed(Dispatcher):
    config: Mapping[str, Any] = {}

    def authored(self, attempt: Attempt) -> Raw | None:
        """The action of an attempt as the pack authors it now."""
        for pack in self.config["packs"]:
            for action in pack["actions"]:
                if pack["owner_key"] == attempt.frozen["owner_key"] and action["slot"] == attempt.action_slot:
                    found: Raw = action
                    return found
        return None


class _InformedHost(Connector):
    def __init__(self, setup: Setup, ports: Ports, store: Store, spec: Spec) -> None:
        super().__init__(setup, ports, store, spec)
        if isinstance(self.dispatcher, _Informed):
            self.dispatcher.config = setup.config


class _RouteOfToday(_Informed):
    def replay(self, attempt: Attempt) -> Result:
        """Repeat the frozen body under the frozen key, by the action's route."""
        action = self.authored(attempt)
        return super().replay(replace(attempt, path=(action and action["create_path"]) or attempt.path))


# POST-034. Given a replay contract, the first answer lost, and the pack reapplied with another create path; when a
# worker replays; then key and body are those of the first request, but the path is the new one.
@SECOND.plant("replayed-by-new-route", names="POST-034", part=HOST)
class ReplayedByNewRoute(_InformedHost):
    """A replay goes to the create path that the action has by now, with the frozen key and body."""

    dispatcher_class = _RouteOfToday


class _Redacting(_Informed):
    def replay(self, attempt: Attempt) -> Result:
        """Take over an attempt, and repeat its request without values that its originator may not read any more."""
        token = self._ports.ids.new("replay.take")
        now = self._ports.clock.now("replay.take")
        when = "io_started_at IS NOT NULL AND remote_id IS NULL"
        values = {**self._lease(token, now), "sends": attempt.sends + 1}
        try:
            with self._store.transaction("replay.take") as tx:
                won = self._ledger.move(
                    tx, attempt.attempt, "take_over_for_replay", held_by=attempt.claim, when=when, **values
                )
                rows = tx.query("SELECT authority FROM attempts WHERE attempt = ?", (attempt.attempt,))
        except (StoreFailed, AckLost):
            return {"status": "unknown", "attempt": attempt.attempt, "reason": "unavailable"}
        if not won:
            return {"status": "blocked", "attempt": attempt.attempt, "reason": "claim_lost"}
        body = self.redacted(attempt, str(json.loads(rows[0][0])["user"]))
        held = replace(attempt, claim=token, sends=attempt.sends + 1, body=body)
        return self.conclude(held, token, self.send(held))

    def redacted(self, attempt: Attempt, user: str) -> Raw:
        """The frozen body less the targets of fields that are closed to the user now."""
        action = self.authored(attempt)
        rights = next((u for u in self.config["users"] if u["id"] == user), None)
        readable = (rights or {}).get("objects", {}).get(attempt.object)
        if action is None or readable is None:
            return attempt.body
        closed = {row["target"] for row in action["mappings"] if row["source"] not in readable}
        return {target: value for target, value in attempt.body.items() if target not in closed}


# POST-034. Given a replay contract, the first answer lost, and a mapped field taken from the originator's rights since;
# when a worker replays; then the body lacks that field: same key, other bytes.
@SECOND.plant("replay-redacted", names="POST-034", part=HOST)
class ReplayRedacted(_InformedHost):
    """A replay leaves out the mapped fields that its originating user has lost the right to read since."""

    dispatcher_class = _Redacting


# DRIFT-092. Given R1's attempt staged with X and not linked yet (its worker paused or killed before writeback.link),
# and R2's POST answered with X too; when R2 is captured and both go on to their links; then two live links hold X.
@SECOND.plant("staged-id-overlooked", names="DRIFT-092", part="dispatcher", unguarded=True)
class StagedIdOverlooked(Dispatcher):
    """Whether a remote id is taken is asked of the links alone at capture, and not again when the link is made."""

    def taken(self, tx: Transaction, held: Attempt, canonical: str) -> bool:
        """Whether a link that is not retired holds the id in the attempt's scope."""
        sql = (
            "SELECT 1 FROM links WHERE owner_key = ? AND destination_slot = ? AND scope = ? AND canonical_id = ?"
            " AND state <> 'retired'"
        )
        scope = (held.frozen["owner_key"], held.destination_slot, held.contract["scope"], canonical)
        return bool(tx.query(sql, scope))


# MIRROR-003. Given X staged on A; when the commit of writeback.link fails definitely; then the pair is on the record,
# and there is no link until a later pass makes it.
@SECOND.plant("mirror-though-link-failed", names="MIRROR-003", part="writeback")
class MirrorThoughLinkFailed(Writeback):
    """When the link cannot be committed, the mirror is written all the same and the link left to the next pass."""

    def link(self, held: Attempt, claim: str) -> bool:
        """Finalize the link; should the store refuse, let the user see the id at least."""
        try:
            return super().link(held, claim)
        except StoreFailed:
            with self._store.transaction("writeback.mirror") as tx:
                if self._ledger.owns(tx, held.attempt, claim, held.state):
                    self.write_pair(tx, held)
            raise


# RETRY-006. Given a replay contract; when the worker crashes after dispatch.note, which made X durable on A, and before
# dispatch.capture; then the next worker finds A in post_sent with its lease over and replays it: a second POST.
@SECOND.plant("replayed-with-id-on-row", names="RETRY-006", part="dispatcher")
class ReplayedWithIdOnRow(Dispatcher):
    """Under a replay contract the id is kept with the answer's first note, but a replay goes by the state alone."""

    def capture(self, held: Attempt, claim: str, answer: Answer) -> str:
        """Make the answer durable, an id with the first write."""
        if answer.kind != "id" or held.contract["replay"] is None:
            return super().capture(held, claim, answer)
        remote_id = str(answer.remote_id)
        seen = {"response_status": answer.status, "response_digest": answer.body_digest}
        ids = {"remote_id": remote_id, "canonical_id": held.canonical(remote_id)}
        staged = self.stage(held, claim, remote_id) if self.note(held, claim, {**seen, **ids}) else "fenced"
        if staged == "fenced":
            self.keep_late(held, remote_id)
        return staged

    def replay(self, attempt: Attempt) -> Result:
        """Take over an attempt that stopped before its id was staged, and repeat its frozen request."""
        token = self._ports.ids.new("replay.take")
        now = self._ports.clock.now("replay.take")
        lease = {**self._lease(token, now), "sends": attempt.sends + 1}
        try:
            with self._store.transaction("replay.take") as tx:
                won = self._ledger.move(
                    tx,
                    attempt.attempt,
                    "take_over_for_replay",
                    held_by=attempt.claim,
                    when="io_started_at IS NOT NULL",
                    **lease,
                )
        except (StoreFailed, AckLost):
            return {"status": "unknown", "attempt": attempt.attempt, "reason": "unavailable"}
        if not won:
            return {"status": "blocked", "attempt": attempt.attempt, "reason": "claim_lost"}
        held = replace(attempt, claim=token, sends=attempt.sends + 1)
        return self.conclude(held, token, self.send(held))


# RETRY-006. Given a replay contract, X staged on A, and a crash before writeback.link; when a general worker resumes A
# after the lease; then it repeats the POST to confirm X before it makes the link.
@SECOND.plant("staged-id-confirmed", names="RETRY-006", part="worker")
class StagedIdConfirmed(Worker):
    """A staged id that a dead worker left is confirmed by repeating the request, where the contract allows that."""

    def finish(self, lanes: tuple[str, ...], tally: Counter[str]) -> None:
        """Take up every row whose POST is over and that nobody holds; a pass that may send makes sure of its id."""
        now = self._ports.clock.now("work.scan")
        for attempt in self.unfinished(lanes):
            if not expired(attempt, now):
                continue
            claim = self._writeback.claim(attempt)
            if claim is None:
                continue
            if attempt.state == "writeback_commit_pending" and attempt.replayable and DEFERRED in lanes:
                answer = self._dispatcher.send(attempt)
                if answer.kind == "id" and answer.remote_id != attempt.remote_id:
                    tally["mismatch"] += 1
                    continue
            tally[str(self._writeback.complete(attempt, claim)["status"])] += 1
