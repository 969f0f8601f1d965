"""The mutation host behind its four commands: invoke, cancel, housekeep, describe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.kit import Ports, Setup, StoreFailed, Unsupported
from reference_impl.mutation_host.admission import Admission, Denied
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.approvals import Approvals
from reference_impl.mutation_host.dispatch import Dispatcher, Winner
from reference_impl.mutation_host.keys import Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Refusal
from reference_impl.mutation_host.preflight import Preflight
from reference_impl.mutation_host.settings import Settings
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.store import Store
from statemachines.spec import Spec

_ROWS = {
    "attempts": "SELECT attempt, request_id, operation, connection, caller, key, state, settled_at,"
    " approval, approval_reference FROM attempts"
    " ORDER BY rowid",
    "reservations": "SELECT reservation, namespace, key, fingerprint, attempt, state, settled_at, replay_expires_at"
    " FROM reservations ORDER BY rowid",
    "spends": "SELECT spend, issuer, reference, instance, attempt, state, spent_at FROM spends ORDER BY rowid",
    "diagnostics": "SELECT attempt, what FROM diagnostics ORDER BY seq",
    "status_log": "SELECT seq, entity, id, from_state, to_state FROM status_log ORDER BY seq",
}


class MutationHost:
    """One opened host on one state directory."""

    ledger_class = Ledger
    dispatcher_class = Dispatcher
    observer_class = Observer
    supervisor_class = Supervisor
    admission_class = Admission
    approvals_class = Approvals
    preflight_class = Preflight

    def __init__(self, setup: Setup, ports: Ports, store: Store, spec: Spec) -> None:
        self._settings = Settings(setup.state_dir, setup.config, fresh=setup.fresh)
        self._ports = ports
        self._store = store
        limits = {**spec.limits, **setup.limits}
        self._deadline_ms = limits["service_deadline_s"] * 1000
        ledger = self.ledger_class(store, spec.lifecycles, limits["replay_retention_s"] * 1000)
        self.ledger = ledger
        self.dispatcher = self.dispatcher_class(ledger, ports, spec.tables["mutation_outcome"], setup.run)
        self.admission = self.admission_class(self._settings, limits["request_bytes"])
        self.approvals = self.approvals_class(ledger, ports, self._settings)
        self.preflight = self.preflight_class(self._settings)
        self.observer = self.observer_class(ledger, ports, spec.tables["replay_boundary"], self.admission)
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
            config = self._settings.current()
            return {"instance": config["instance"], "operations": list(config["operations"])}
        raise Unsupported(cmd, "the mutation host has no such command")

    def recover(self) -> Mapping[str, Any]:
        """The recovery procedure."""
        return self.supervisor.recover()

    def snapshot(self) -> Mapping[str, Any]:
        """All durable rows in their canonical columns."""
        return {"source": "store", "kinds": self._store.rows(_ROWS)}

    def invoke(self, context: Mapping[str, Any], request: Mapping[str, Any]) -> Answer:
        """One invocation: admission, then the key, then a new attempt or an observation."""
        voice = Voice(self._settings.current()["instance"], str(request.get("request_id")))
        started = self._ports.clock.now("invoke.start")
        try:
            call = self.admission.admit(context, request, started.mono_ms + self._deadline_ms)
            return self.answer(call, voice)
        except Denied as denied:
            return voice.denied(denied.code)

    def answer(self, call: Call, voice: Voice) -> Answer:
        """An admitted call; raises Denied when access is withdrawn before anything of an original is shown."""
        if call.key is not None:
            observed = self.look_up(call, "invoke.lookup", voice)
            if observed is not None:
                return observed
        candidate = self.approvals.judge(call)
        refusal = candidate if isinstance(candidate, Refusal) else self.preflight.judge(call)
        if refusal is not None:
            return self.refuse(call, refusal, voice)
        assert isinstance(candidate, Call)
        outcome = self.dispatcher.attempt(candidate, voice)
        if isinstance(outcome, Winner):
            return self.observer.observe(call, outcome.record, voice)
        return outcome

    def look_up(self, call: Call, step: str, voice: Voice) -> Answer | None:
        """What a keyed call is told because of somebody else's reservation; None when nobody governs its key.

        Access is checked behind the read, before the index says anything: a used key and a fresh one look alike to
        whoever may not see results.
        """
        try:
            record = self.ledger.find_live(step, call.namespace, str(call.key))
        except StoreFailed:
            self.admission.recheck(call)
            return self.observer.unread(call, voice)
        self.admission.recheck(call)
        action = self.observer.decide(call, record, self._ports.clock.now(step))
        if record is None or action in ("new_candidate", "retire_then_candidate"):
            return None
        return self.observer.observe(call, record, voice)

    def refuse(self, call: Call, refusal: Refusal, voice: Voice) -> Answer:
        """Refuse a candidate that missed, unless a winner came in between: that is the moment of the decision."""
        if call.key is not None:
            observed = self.look_up(call, "invoke.recheck", voice)
            if observed is not None:
                return observed
        return voice.refused_candidate(refusal)
