"""The commands of settle lanes as ops of a schedule (spec/commands/settle_lanes.yaml)."""

from __future__ import annotations

from typing import Any

from conformance.search.process import EPOCH_MS
from conformance.search.program import Op, call


def event(payload: str, source: str = "acme", kind: str = "settled") -> dict[str, Any]:
    """One Event of a delivery."""
    return {"source": source, "kind": kind, "payload": payload}


def deliver(proc: str, delivery: str, *events: dict[str, Any] | str, path: str = "bulk") -> Op:
    """A delivery; a bare text is the payload of an Event of the source ``acme`` on the settled route."""
    full = [event(e) if isinstance(e, str) else e for e in events]
    return call(proc, "lane.deliver", delivery=delivery, path=path, events=full)


def row(id_: int, ordinal: int, second: float, **members: Any) -> dict[str, Any]:
    """A row of an older version that arrived ``second`` seconds after virtual time began."""
    created = EPOCH_MS + round(second * 1000)
    keys = {"id": id_, "ordinal": ordinal, "created_at": created, "sequence": 0}
    return {"route": "settled", "source": "acme", "state": "pending", "payload": f"p{id_}", **keys, **members}


def load(proc: str, *rows: dict[str, Any]) -> Op:
    """Rows appear."""
    return call(proc, "lane.load_rows", rows=list(rows))


def claim(proc: str, named: int | None = None) -> Op:
    """One poll, or a claim by name."""
    return call(proc, "lane.claim", **({} if named is None else {"event": named}))


def read(proc: str) -> Op:
    """The Flow reads its input."""
    return call(proc, "lane.input")


def finish(proc: str, outcome: str = "success") -> Op:
    """The Flow's outcome is reported."""
    return call(proc, "lane.finish", outcome=outcome)


def execute(proc: str, outcome: str = "success", named: int | None = None) -> tuple[Op, Op, Op]:
    """Claim, input and outcome: one execution where there is something to execute, else three idle commands."""
    return claim(proc, named), read(proc), finish(proc, outcome)


def replay(proc: str, original: int) -> Op:
    """An operator replays an Event."""
    return call(proc, "lane.replay", event=original)


def metrics(proc: str) -> Op:
    """The due metrics are read."""
    return call(proc, "lane.metrics")


def normalize(proc: str, mode: str, has_filter: bool) -> Op:
    """A route is authored."""
    return call(proc, "lane.normalize", mode=mode, filter=has_filter)
