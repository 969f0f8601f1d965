"""The mutation host behind its four commands: invoke, cancel, housekeep, describe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.kit import Ports, Setup, StoreFailed, Unsupported
from reference_impl.mutation_host.admission import Denied, admit
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher, Winner
from reference_impl.mutation_host.keys import Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.store import Store
from statemachines.spec import Spec

_ROWS = {
    "attempts": "SELECT attempt, request_id, operation, connection, caller, key, state, settled_at FROM attempts"
    " ORDER BY rowid",
    "reservations": "SELECT reservation, namespace, key, fingerprint, attempt, state, settled_at, replay_expires_at"
    " FROM reservations ORDER BY rowid",
    "diagnostics": "SELECT attempt, what FROM diagnostics ORDER BY seq",
    "status_log": "SELECT seq, entity, id, from_state, to_state FROM status_log ORDER BY seq",
}


class MutationHost:
    """One opened host on one state directory."""

    ledger_class = Ledger
    dispatcher_class = Dispatcher
    observer_class = Observer
    supervisor_class = Supervisor

    def __init__(self, setup: Setup, ports: Ports, store: Store, spec: Spec) -> None:
        self._config = setup.config
        self._ports = ports
        self._store = store
        limits = {**spec.limits, **setup.limits}
        self._deadline_ms = limits["service_deadline_s"] * 1000
        ledger = self.ledger_class(store, spec.lifecycles, limits["replay_retention_s"] * 1000)
        self.ledger = ledger
        self.dispatcher = self.dispatcher_class(ledger, ports, spec.tables["mutation_outcome"], setup.run)
        self.observer = self.observer_class(ledger, ports, spec.tables["replay_boundary"])
        self.supervisor = self.supervisor_class(ledger, ports)

    def command(self, cmd: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """One command of the mutation-host family (spec/commands/mutation_host.yaml)."""
        if cmd == "host.invoke":
            return self.invoke(args["context"], args["request"])
        if cmd == "host.cancel":
            return self.supervisor.cancel(args["context"]["caller"], args["request_id"])
        if cmd == "host.housekeep":
            return self.supervisor.housekeep()
        if cmd == "host.describe":
            return {"instance": self._config["instance"], "operations": list(self._config["operations"])}
        raise Unsupported(cmd, "the mutation host has no such command")

    def recover(self) -> Mapping[str, Any]:
        """The recovery procedure."""
        return self.supervisor.recover()

    def snapshot(self) -> Mapping[str, Any]:
        """All durable rows in their canonical columns."""
        return {"source": "store", "kinds": self._store.rows(_ROWS)}

    def invoke(self, context: Mapping[str, Any], request: Mapping[str, Any]) -> Answer:
        """One invocation: admission, then the key, then a new attempt or an observation."""
        voice = Voice(self._config["instance"], str(request.get("request_id")))
        started = self._ports.clock.now("invoke.start")
        try:
            call = admit(self._config, context, request, started.mono_ms + self._deadline_ms)
        except Denied as denied:
            return voice.denied(denied.code)
        if call.key is not None:
            try:
                record = self.ledger.find_live("invoke.lookup", call.namespace, call.key)
            except StoreFailed:
                return self.observer.unread(call, voice)
            action = self.observer.decide(call, record, self._ports.clock.now("invoke.lookup"))
            if record is not None and action not in ("new_candidate", "retire_then_candidate"):
                return self.observer.observe(call, record, voice)
        outcome = self.dispatcher.attempt(call, voice)
        if isinstance(outcome, Winner):
            return self.observer.observe(call, outcome.record, voice)
        return outcome
