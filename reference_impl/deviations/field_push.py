"""Faults of connectors that really happened; spec/field.yaml has each under the id that its docstring names."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.kit import Ports, Setup
from reference_impl.connector.dispatch import Dispatcher
from reference_impl.connector.ledger import Ledger
from reference_impl.connector.model import Attempt
from reference_impl.connector.runtime import Connector
from reference_impl.planting import HOST, Collection
from reference_impl.store import Store
from statemachines.spec import Spec

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


class _OwnClaims(Ledger):
    worker = ""

    def attempts_in(self, step: str, states: Sequence[str], lanes: Sequence[str]) -> list[Attempt]:
        sql = "SELECT attempt FROM attempts WHERE claim IS NULL OR worker = ?"
        mine = {row[0] for row in self.store.read(step, sql, (self.worker,))}
        return [attempt for attempt in super().attempts_in(step, states, lanes) if attempt.attempt in mine]


@FIELD.plant("field-br07-claims-found-by-name", names="ATT-040", part=HOST)
class ClaimsFoundByName(Connector):
    """BR-07: a worker looks for claims under its own name alone, so that those of a dead worker are never found."""

    ledger_class = _OwnClaims

    def __init__(self, setup: Setup, ports: Ports, store: Store, spec: Spec) -> None:
        super().__init__(setup, ports, store, spec)
        if isinstance(self.ledger, _OwnClaims):
            self.ledger.worker = ports.actor
