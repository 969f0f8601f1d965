"""Faults of connectors that really happened; spec/field.yaml has each under the id that its docstring names."""

from __future__ import annotations

from reference_impl.connector.dispatch import Dispatcher
from reference_impl.connector.model import Attempt
from reference_impl.planting import Collection

FIELD = Collection("connector-push")


@FIELD.plant("field-br01-sent-again-by-next-pass", names="POST-032", part="dispatcher", unguarded=True)
class SentAgainByNextPass(Dispatcher):
    """BR-01: an attempt whose answer was lost counts as not created, and waits for the next pass."""

    def lose(self, held: Attempt, claim: str) -> str:
        status = super().lose(held, claim)
        if status != "ambiguous":
            return status
        again = "UPDATE attempts SET state = 'pending', claim = NULL, lease_expires_at = NULL, io_started_at = NULL"
        with self._store.transaction("dispatch.again") as tx:
            tx.execute(f"{again} WHERE attempt = ? AND remote_id IS NULL", (held.attempt,))
        return "retrying"
