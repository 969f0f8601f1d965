"""The values of the connector runtime: resolved actions, keys, frozen requests, rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.kit import Request
from reference_impl.store import Row

ACTION_TYPE: Final = "PushToConnector"
CONFIGURED: Final = "configured"
DEFERRED: Final = "deferred_association"
LANES: Final = {"general": (CONFIGURED, DEFERRED), "narrow": (DEFERRED,)}

Raw = Mapping[str, Any]


def canonical_json(value: Any) -> str:
    """Sorted keys, no insignificant white space."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Any) -> str:
    """SHA-256 over the canonical form."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Action:
    """A pack-authored push action with its pack and the one profile that serves it, all as configured now."""

    pack: Raw
    raw: Raw
    profile: Raw

    def key_of(self, record: str) -> str:
        """The link key of one source record under this action: hash_v1 over the six stable inputs, in order."""
        return link_key(
            self.pack["owner_key"], self.raw["slot"], self.raw["source_object"], record, self.raw["destination_slot"]
        )

    def frozen(self) -> dict[str, Any]:
        """What a later send is compared with: the install, and everything that decides where a request goes."""
        profile = self.profile
        return {
            "owner_key": self.pack["owner_key"],
            "install": self.pack["install"],
            "destination_slot": profile["destination_slot"],
            "credential": {k: profile["credential"][k] for k in ("ref", "auth_type", "generation")},
            "endpoint": dict(profile["endpoint"]),
        }

    def contract(self) -> dict[str, Any]:
        """The profile's contract with the remote, frozen on the attempt."""
        names = ("scope", "remote_id_form", "retry", "rejections", "replay")
        return {**{name: self.profile[name] for name in names}, "response_id_path": self.raw["response_id_path"]}

    def names(self) -> dict[str, Any]:
        """The readable names, snapshots for people and never part of a key."""
        raw = self.raw
        return {
            "namespace": self.pack["namespace"],
            "flow": raw["flow"],
            "flow_version": raw["flow_version"],
            "action": raw["name"],
            "target_object": raw["target_object"],
            "profile": raw["profile"],
        }


def link_key(owner: str, slot: str, source_object: str, record: str, destination: str) -> str:
    """hash_v1: SHA-256 over an injective encoding of the six inputs."""
    return digest(["hash_v1", owner, slot, ACTION_TYPE, source_object, record, destination])


@dataclass(frozen=True, slots=True)
class Attempt:
    """One row of ``attempts``; JSON columns are decoded."""

    attempt: str
    link_key: str
    object: str
    record: str
    action_slot: str
    destination_slot: str
    state: str
    lane: str
    claim: str | None
    lease_expires_at: int | None
    io_started_at: int | None
    sends: int
    idempotency_key: str
    path: str
    body: Raw
    associations: tuple[Raw, ...]
    frozen: Raw
    names: Raw
    contract: Raw
    mirror: Raw | None
    remote_id: str | None
    mirror_tries: int
    reason: str | None

    @staticmethod
    def from_row(row: Row) -> Attempt:
        """The attempt in a row of :data:`ATTEMPT_SQL`."""
        values = [json.loads(row[name]) if name in _JSON and row[name] else row[name] for name in COLUMNS]
        return Attempt(*values)

    @property
    def request(self) -> Request:
        """The frozen request; the key goes where the frozen contract says, and nowhere without one."""
        replay = self.contract["replay"]
        headers = {replay["header"]: self.idempotency_key} if replay else {}
        return Request("POST", self.path, canonical_json(self.body).encode(), headers)

    @property
    def replayable(self) -> bool:
        """Whether an unknown outcome permits the same request again: contract, lane, and the frozen limit."""
        limit = int(self.contract["retry"]["sends"])
        return self.contract["replay"] is not None and self.lane == CONFIGURED and self.sends < limit

    def canonical(self, remote_id: str) -> str:
        """The form in which two spellings of one remote id are equal."""
        return remote_id.casefold() if self.contract["remote_id_form"] == "case_insensitive" else remote_id


_JSON: Final = frozenset({"body", "associations", "frozen", "names", "contract", "mirror"})
COLUMNS: Final = tuple(Attempt.__dataclass_fields__)
ATTEMPT_SQL: Final = f"SELECT {', '.join(COLUMNS)} FROM attempts"


@dataclass(frozen=True, slots=True)
class Answer:
    """What an answer proves: ``id`` with the remote id, ``rejection``, or ``lost``; and what to keep of it."""

    kind: str
    remote_id: str | None = None
    status: int | None = None
    body_digest: str | None = None
