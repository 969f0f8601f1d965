"""Connector push: a second create for a record that has its link, and outcomes that are made up."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from reference_impl.connector.dispatch import Dispatcher, Result
from reference_impl.connector.model import CONFIGURED, Answer, Attempt, Raw
from reference_impl.connector.runtime import Connector
from reference_impl.connector.worker import Worker
from reference_impl.planting import HOST, Collection

PUSH_LINKED = Collection("connector-push")


class _ResendingDispatcher(Dispatcher):
    def again(self, record: str) -> None:
        """Repeat the request that made the link of a record."""
        for attempt in self._ledger.attempts_in("save.observe", ("finalized",), (CONFIGURED,)):
            if attempt.record == record:
                self.send(attempt)


# Given R with its link; when R is saved again; then the create is sent once more.
@PUSH_LINKED.plant("saves-create-again", names="POST-020", part=HOST)
class SavesCreateAgain(Connector):
    """Sends the create whenever a record is saved, and trusts the remote to make of it what is new."""

    dispatcher_class = _ResendingDispatcher

    def trigger(self, args: Raw) -> dict[str, Any]:
        said = super().trigger(args)
        if any(push["status"] == "linked" for push in said["pushes"]):
            assert isinstance(self.dispatcher, _ResendingDispatcher)
            self.dispatcher.again(str(args["id"]))
        return said


# Given R with its link and its mirror outstanding; when a worker takes the attempt up; then it sends the create again.
@PUSH_LINKED.plant("upserts-before-mirror", names="POST-020", part="worker")
class UpsertsBeforeMirror(Worker):
    """Sends the request once more ahead of the mirror, to be sure that the remote has what the mirror will say."""

    def finish(self, lanes: tuple[str, ...], tally: Counter[str]) -> None:
        for attempt in self.unfinished(lanes):
            if attempt.state == "writeback_pending" and attempt.claim is None:
                self._dispatcher.send(attempt)
        super().finish(lanes, tally)


# Given two workers that find A expired under a replay contract; when one has repeated the request and made the link;
# then the other one, which never got the claim, repeats it too.
@PUSH_LINKED.plant("replays-without-claim", names="POST-020", part="dispatcher")
class ReplaysWithoutClaim(Dispatcher):
    """Repeats a request whether or not it got the claim: the key makes that harmless."""

    def replay(self, attempt: Attempt) -> Result:
        said = super().replay(attempt)
        if said.get("reason") == "claim_lost":
            self.send(attempt)
        return said


# Given a 503 that the profile does not declare; then the attempt is filed as failed for good.
@PUSH_LINKED.plant("server-errors-are-definite", names="ATT-043", part="dispatcher")
class ServerErrorsAreDefinite(Dispatcher):
    """Takes every status that is no success for a rejection."""

    def send(self, held: Attempt) -> Answer:
        found = super().send(held)
        return replace(found, kind="rejection") if found.kind == "lost" and found.status else found


# Given a 201 without an id; then the attempt is on its way to a link whose id says nothing.
@PUSH_LINKED.plant("any-success-has-an-id", names="ATT-043", part="dispatcher")
class AnySuccessHasAnId(Dispatcher):
    """Takes a status of success for one, and what stands at the path of the id for an id."""

    def send(self, held: Attempt) -> Answer:
        found = super().send(held)
        success = found.kind == "lost" and found.status is not None and found.status < 300
        return replace(found, kind="id", remote_id="None") if success else found
