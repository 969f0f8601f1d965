"""The save that may push: the gates before a POST, and the reservation. It sends nothing itself."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from conformance.kit import AckLost, Ports, StoreFailed
from reference_impl.connector.ledger import Ledger
from reference_impl.connector.metadata import Refused, authored, project, resolve
from reference_impl.connector.model import CONFIGURED, DEFERRED, Action, Raw, canonical_json, link_key


@dataclass(frozen=True, slots=True)
class Candidate:
    """A create that passed every gate: what its attempt will freeze."""

    action: Action
    key: str
    record: str
    lane: str
    body: Raw
    associations: tuple[Raw, ...]
    authority: Raw
    expected: Raw | None


@dataclass(frozen=True, slots=True)
class Reserved:
    """The attempt of a candidate, in its lane."""

    attempt: str
    lane: str


class Saver:
    """Decides what one save means for one action, and reserves at most one attempt for it."""

    def __init__(self, ledger: Ledger, ports: Ports, config: Raw) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._ports = ports
        self._config = config

    def save(self, pack: Raw, raw: Raw, record: str, user: str) -> Reserved | dict[str, Any]:
        """Reserve an attempt, or say why not; every refusal leaves the rows as they are."""
        try:
            action = resolve(pack, raw)
            authored(action)
            key = action.key_of(record)
            held = self._ledger.occupant("save.observe", key)
            if held is not None:
                return blocked(*held)
            candidate = self.admit(action, key, record, user)
            return self.reserve(candidate)
        except Refused as refused:
            return {"status": "refused", "reason": refused.reason}
        except StoreFailed:
            return {"status": "refused", "reason": "unavailable"}
        except AckLost:
            # Whether the row is there is for the next reader to see; nothing is sent on the strength of a hope.
            return {"status": "unknown", "reason": "unavailable"}

    def admit(self, action: Action, key: str, record: str, user: str) -> Candidate:
        """Freeze what the attempt will carry; raises :class:`Refused` at the first gate that is shut."""
        found = self._ledger.record("save.gates", action.raw["source_object"], record)
        if found is None or found[1]:
            raise Refused("source_gone")
        fields = found[0]
        body, authority = project(self._config, action, user, record, fields)
        associations = tuple(self._association(action, a, fields) for a in action.raw.get("associations", ()))
        waiting = [a for a in associations if a["record"] and a["remote_id"] is None]
        for a in associations:
            if a["remote_id"] is not None:
                body[a["target"]] = a["remote_id"]
        mirror = action.raw["mirror"]
        expected = {**mirror, "expected": fields.get(mirror["remote_id_field"])} if mirror else None
        lane = DEFERRED if waiting else CONFIGURED
        return Candidate(action, key, record, lane, body, associations, authority, expected)

    def _association(self, action: Action, raw: Raw, fields: Raw) -> dict[str, Any]:
        """One position of the association vector: the save-time record id, blank ones included."""
        record = str(fields.get(raw["lookup"]) or "")
        owner = action.pack["owner_key"]
        key = link_key(owner, raw["action_slot"], raw["object"], record, raw["destination_slot"]) if record else ""
        found = self._ledger.remote_id_of("save.gates", key) if record else None
        return {"target": raw["target"], "record": record, "link_key": key, "remote_id": found}

    def reserve(self, candidate: Candidate) -> Reserved | dict[str, Any]:
        """Commit the pending attempt, unless the key is taken by now."""
        attempt = self._ports.ids.new("save.reserve")
        columns = {
            "record": candidate.record,
            "lane": candidate.lane,
            "idempotency_key": self._ports.ids.new("save.reserve"),
            "body": canonical_json(candidate.body),
            "associations": canonical_json(candidate.associations),
            "authority": canonical_json(
                {**candidate.authority, "decided_at": self._ports.clock.now("save.reserve").wall_ms}
            ),
            "mirror": canonical_json(candidate.expected) if candidate.expected else None,
        }
        try:
            with self._store.transaction("save.reserve") as tx:
                held = self._ledger.occupant_within(tx, candidate.key)
                if held is None:
                    self._ledger.reserve(tx, attempt, candidate.key, candidate.action, columns)
        except sqlite3.IntegrityError:
            # The occupancy index spoke: somebody else was first.
            return {"status": "blocked", "reason": "occupied"}
        return Reserved(attempt, candidate.lane) if held is None else blocked(*held)


def blocked(kind: str, ident: str, state: str) -> dict[str, Any]:
    """What a save is told when its key is taken."""
    return {"status": "linked" if kind == "link" else "blocked", kind: ident, "reason": state}
