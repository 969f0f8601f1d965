"""Connector push: a second create for a record that has its link, with no crash and no lost answer to excuse it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from reference_impl.connector.dispatch import Dispatcher
from reference_impl.connector.model import CONFIGURED, Raw
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
