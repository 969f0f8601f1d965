"""The settle lanes behind their commands (spec/commands/settle_lanes.yaml)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.kit import AckLost, Ports, Setup, StoreFailed, Unsupported
from reference_impl.settle.claim import Claimer, Reaper
from reference_impl.settle.enqueue import Enqueuer
from reference_impl.settle.flow import Finisher, Reader
from reference_impl.settle.ledger import Ledger
from reference_impl.settle.metadata import Metadata, modes
from reference_impl.settle.metrics import Gauge
from reference_impl.settle.model import Held, Raw, Route
from reference_impl.settle.replay import Replayer
from reference_impl.store import Store
from statemachines.spec import Spec

_ROWS = {
    "events": "SELECT e.event, e.route, e.source, e.state, e.ordinal, e.created_at, e.sequence, e.delivery,"
    " e.not_before, e.attempts, e.token, e.worker, e.lease_expires_at, e.error, w.served, e.replayed_by, e.payload"
    " FROM events e LEFT JOIN work_items w ON w.event = e.event ORDER BY e.event",
    "work_items": "SELECT item, event, state, run_after FROM work_items ORDER BY item",
    "status_log": "SELECT seq, entity, id, from_state, to_state FROM status_log ORDER BY seq",
}


class Lanes:
    """One opened host on one state directory. The claim that a process holds is in its memory only."""

    ledger_class = Ledger
    enqueuer_class = Enqueuer
    reaper_class = Reaper
    claimer_class = Claimer
    reader_class = Reader
    finisher_class = Finisher
    replayer_class = Replayer
    gauge_class = Gauge
    metadata_class = Metadata

    def __init__(self, setup: Setup, ports: Ports, store: Store, spec: Spec) -> None:
        self._store = store
        self._ports = ports
        config = setup.config
        known = modes(spec)
        self.routes = {r["id"]: Route(r["id"], tuple(r["kinds"]), known[r["mode"]]) for r in config["routes"]}
        ledger = self.ledger_class(store, spec.lifecycles)
        self.ledger = ledger
        self.enqueuer = self.enqueuer_class(ledger, ports, tuple(self.routes.values()), config["windows"])
        self.reaper = self.reaper_class(ledger, ports, config)
        self.claimer = self.claimer_class(ledger, self.reaper, ports, self.routes, config)
        self.reader = self.reader_class(ledger, self.routes)
        self.finisher = self.finisher_class(ledger, ports, config)
        self.replayer = self.replayer_class(ledger, ports)
        self.gauge = self.gauge_class(ledger, ports)
        self.metadata = self.metadata_class(known)
        self.held: Held | None = None
        self._commands: dict[str, Callable[[Raw], dict[str, Any]]] = {
            "lane.deliver": self.enqueuer.deliver,
            "lane.load_rows": self.enqueuer.load,
            "lane.claim": self.claim,
            "lane.input": self.input,
            "lane.finish": self.finish,
            "lane.replay": lambda args: self.replayer.replay(int(args["event"])),
            "lane.metrics": lambda _: self.gauge.read(),
            "lane.normalize": lambda args: self.metadata.normalize(str(args["mode"]), bool(args["filter"])),
        }

    def command(self, cmd: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """One command of the family; raises Unsupported with the reason for what is not built."""
        if cmd in self._commands:
            return self._commands[cmd](args)
        raise Unsupported(cmd, "a stop beside the kill is not built" if cmd == "stop" else "there is no such command")

    def recover(self) -> Mapping[str, Any]:
        """The reaper's pass."""
        try:
            return {"status": "done", "counts": {"reclaimed": self.reaper.reap("reap.scan", "reap.reclaim")}}
        except (StoreFailed, AckLost):
            return {"status": "unavailable"}

    def snapshot(self) -> Mapping[str, Any]:
        """All durable rows in their canonical columns."""
        return {"source": "store", "kinds": self._store.rows(_ROWS)}

    def claim(self, args: Raw) -> dict[str, Any]:
        """One poll, or a claim by name."""
        self.held = None
        try:
            self.held = self.claimer.claim(args.get("event"))
        except StoreFailed:
            return {"status": "unavailable"}
        except AckLost:
            return {"status": "unknown"}
        return {"status": "nothing"} if self.held is None else {"status": "claimed", "event": self.held.event}

    def input(self, args: Raw) -> dict[str, Any]:
        """The Flow input of the claim that this process holds."""
        del args
        return {"status": "nothing"} if self.held is None else self.reader.read(self.held)

    def finish(self, args: Raw) -> dict[str, Any]:
        """The outcome of the Flow; a claim is let go of once it is known where it stands."""
        if self.held is None:
            return {"status": "nothing"}
        said = self.finisher.finish(self.held, str(args["outcome"]))
        if said["status"] in ("recorded", "lost"):
            self.held = None
        return said
