"""First set of deviations of the connector runtime: for each live requirement one, made with the catalogue at hand."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import suppress
from typing import Any

from conformance.kit import AckLost, RemoteAnswer, RemoteUnknown, Request, StoreFailed
from reference_impl.connector.dispatch import FIT, SOURCE, Dispatcher, Result, weigh
from reference_impl.connector.ledger import Ledger
from reference_impl.connector.model import CONFIGURED, Answer, Attempt, canonical_json
from reference_impl.connector.saver import Candidate, Reserved, Saver
from reference_impl.connector.worker import Worker
from reference_impl.connector.writeback import Writeback
from reference_impl.planting import Collection
from reference_impl.store import Transaction

FIRST = Collection("connector-push")


@FIRST.plant("select-then-insert", names="ATT-004", part="ledger", unguarded=True)
class SelectThenInsert(Ledger):
    """Trusts the look that it took before the transaction, and inserts without another and without an index."""

    def occupant_within(self, tx: Transaction, link_key: str) -> tuple[str, str, str] | None:
        del tx, link_key
        return None


@FIRST.plant("checkpoint-by-id", names="ATT-015", part="dispatcher")
class CheckpointById(Dispatcher):
    """Writes the checkpoint by attempt id alone, whoever holds the claim by now."""

    def checkpoint(self, attempt: str, claim: str) -> bool:
        del claim
        now = self._ports.clock.now("dispatch.checkpoint").wall_ms
        with self._store.transaction("dispatch.checkpoint") as tx:
            sql = f"UPDATE attempts SET io_started_at = ?, sends = 1 WHERE attempt = ? AND {SOURCE}"
            return tx.execute(sql, (now, attempt)) == 1


@FIRST.plant("checkpoint-after-answer", names="ATT-016", part="dispatcher")
class CheckpointAfterAnswer(Dispatcher):
    """Only looks whether it may send, and writes the checkpoint when the answer has come."""

    def checkpoint(self, attempt: str, claim: str) -> bool:
        now = self._ports.clock.now("dispatch.look").wall_ms
        sql = f"SELECT 1 FROM attempts WHERE attempt = ? AND claim = ? AND lease_expires_at > ? AND {FIT}"
        return bool(self._store.read("dispatch.look", sql, (attempt, claim, now)))

    def conclude(self, held: Attempt, claim: str, answer: Answer) -> Result:
        with suppress(StoreFailed, AckLost):
            super().checkpoint(held.attempt, claim)
        return super().conclude(held, claim, answer)


@FIRST.plant("gate-on-active-only", names="POST-023", part="ledger", unguarded=True)
class GateOnActiveOnly(Ledger):
    """Lets a save pass that finds a terminal_failed attempt."""

    def _occupant_sql(self) -> str:
        return super()._occupant_sql().replace(", 'terminal_failed'", "").replace("'terminal_failed', ", "")


@FIRST.plant("send-then-reserve", names="POST-028", part="saver", unguarded=True)
class SendThenReserve(Saver):
    """Sends first and writes everything down in one transaction when the answer has come."""

    def reserve(self, candidate: Candidate) -> Reserved | dict[str, Any]:
        if candidate.action.raw["dispatch"] != "synchronous" or candidate.lane != CONFIGURED:
            return super().reserve(candidate)
        request = Request("POST", candidate.action.raw["create_path"], canonical_json(candidate.body).encode())
        try:
            answer = self._ports.remote.send("dispatch.send", request, None)
        except RemoteUnknown:
            answer = RemoteAnswer(0, b"")
        said = super().reserve(candidate)
        if isinstance(said, Reserved):
            self._write_down(said.attempt, answer)
            return {"status": "finalized", "attempt": said.attempt}
        return said

    def _write_down(self, attempt: str, answer: RemoteAnswer) -> None:
        held = self._ledger.attempt("save.read_back", attempt)
        found = weigh(held, answer)
        states = {"id": "finalized", "rejection": "terminal_failed", "lost": "ambiguous_remote_effect"}
        with self._store.transaction("save.outcome") as tx:
            if found.remote_id and self._ledger.locator_owner(tx, held, held.canonical(found.remote_id)):
                states["id"] = "terminal_failed"
            sql = "UPDATE attempts SET state = ?, remote_id = ?, io_started_at = 1 WHERE attempt = ?"
            tx.execute(sql, (states[found.kind], found.remote_id, attempt))
            if states[found.kind] == "finalized":
                self._ledger.insert_link(tx, attempt, held, str(found.remote_id))


@FIRST.plant("attempt-then-link", names="POST-031", part="writeback")
class AttemptThenLink(Writeback):
    """Takes the attempt on in one transaction and makes the link in the next."""

    def link(self, held: Attempt, claim: str) -> bool:
        with self._store.transaction("writeback.activate") as tx:
            moved = self._ledger.move(tx, held.attempt, "activate_writeback", held_by=claim)
        if moved:
            self._make_link(held)
        return moved

    def mirror(self, held: Attempt, claim: str) -> str:
        if self._ledger.remote_id_of("writeback.look", held.link_key) is None:
            self._make_link(held)
        return super().mirror(held, claim)

    def _make_link(self, held: Attempt) -> None:
        link = self._ports.ids.new("writeback.link")
        with suppress(sqlite3.IntegrityError), self._store.transaction("writeback.link") as tx:
            self._ledger.insert_link(tx, link, held, str(held.remote_id))


@FIRST.plant("retry-on-timeout", names="POST-032", part="dispatcher")
class RetryOnTimeout(Dispatcher):
    """Sends the request once more when no answer came."""

    def send(self, held: Attempt) -> Answer:
        answer = super().send(held)
        return super().send(held) if answer.kind == "lost" and answer.status is None else answer


@FIRST.plant("replay-rebuilds", names="POST-034", part="dispatcher")
class ReplayRebuilds(Dispatcher):
    """Replays with the right key and a body made from the record as it is now."""

    def replay(self, attempt: Attempt) -> Result:
        found = self._ledger.record("replay.rebuild", attempt.object, attempt.record)
        body = {**attempt.body, "display_name": found[0].get("Name")} if found else dict(attempt.body)
        with self._store.transaction("replay.rebuild") as tx:
            tx.execute("UPDATE attempts SET body = ? WHERE attempt = ?", (canonical_json(body), attempt.attempt))
        return super().replay(self._ledger.attempt("replay.rebuild", attempt.attempt))


@FIRST.plant("move-the-link", names="DRIFT-092", part="dispatcher", unguarded=True)
class MoveTheLink(Dispatcher):
    """Takes the link of another record over when the remote answers with its id."""

    def taken(self, tx: Transaction, held: Attempt, canonical: str) -> bool:
        del held
        tx.execute("UPDATE links SET state = 'retired' WHERE canonical_id = ?", (canonical,))
        return False


@FIRST.plant("mirror-in-the-handler", names="MIRROR-003", part="dispatcher")
class MirrorInTheHandler(Dispatcher):
    """Writes the mirror while it handles the response, then the link."""

    def stage(self, held: Attempt, claim: str, remote_id: str) -> str:
        staged = super().stage(held, claim, remote_id)
        if staged == "staged" and held.mirror is not None:
            field, mark = held.mirror["remote_id_field"], held.mirror["provenance_field"]
            sql = "UPDATE records SET fields = json_set(fields, ?, ?, ?, ?) WHERE object = ? AND id = ? AND locked = 0"
            values = (f"$.{field}", remote_id, f"$.{mark}", held.link_key, held.object, held.record)
            with self._store.transaction("dispatch.mirror") as tx:
                tx.execute(sql, values)
        return staged


@FIRST.plant("recovery-looks-for-links", names="RETRY-006", part="worker", unguarded=True)
class RecoveryLooksForLinks(Worker):
    """Sends every unfinished attempt without a link, though its remote id is durable."""

    def finish(self, lanes: tuple[str, ...], tally: Counter[str]) -> None:
        for attempt in self._ledger.attempts_in("reclaim.scan", ("writeback_commit_pending",), lanes):
            with self._store.transaction("recover.restart") as tx:
                again = "UPDATE attempts SET state = 'pending', claim = NULL, io_started_at = NULL, remote_id = NULL"
                tx.execute(f"{again} WHERE attempt = ? AND lease_expires_at < ?", self._due(attempt))
        super().send_pending(lanes, tally)
        super().finish(lanes, tally)

    def _due(self, attempt: Attempt) -> tuple[str, int]:
        return attempt.attempt, self._ports.clock.now("reclaim.scan").wall_ms
