"""Pack metadata: the gates that need no row (Before POST), and the drift that holds a reserved attempt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from conformance.kit import Unsupported
from reference_impl.connector.model import Action, Attempt, Raw


class Refused(Exception):
    """The runtime fails closed: nothing is reserved and nothing is sent. ``reason`` is one word for the operator."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def actions_of(config: Raw, source_object: str) -> Iterator[tuple[Raw, Raw]]:
    """(pack, action) of every authored action on saves of an object."""
    for pack in config["packs"]:
        for action in pack["actions"]:
            if action["source_object"] == source_object:
                yield pack, action


def resolve(pack: Raw, action: Raw) -> Action:
    """The action with its one usable profile; raises :class:`Refused` at the first gate that is shut."""
    if not pack["trusted"]:
        raise Refused("pack_untrusted")
    if not (pack["owner_key"] and action["slot"] and action["destination_slot"]):
        raise Refused("slot_unresolved")
    usable = [p for p in pack["profiles"] if p["active"] and p["destination_slot"] == action["destination_slot"]]
    if len(usable) != 1:
        raise Refused("profile_unusable")
    return Action(pack, action, usable[0])


def authored(action: Action) -> None:
    """The gates on what the pack authors, asked at reservation only: a reserved attempt has its own frozen copy."""
    raw = action.raw
    if not (raw["create_path"] and raw["update_path"] and raw["response_id_path"]):
        raise Refused("route_missing")
    rows = raw["mappings"]
    targets = Counter(row["target"] for row in rows)
    if not rows or any(row.get("customized") for row in rows) or any(n > 1 for n in targets.values()):
        raise Refused("mapping_unusable")
    if any(a["kind"] != "create_inline" for a in raw.get("associations", ())):
        raise Unsupported("update_only", "associations that need a call of their own after the create are not served")


def project(config: Raw, action: Action, user: str, record: str, fields: Raw) -> tuple[dict[str, Any], dict[str, Any]]:
    """(body, authority snapshot) under the originating user's rights; one unreadable mapped field refuses it all."""
    rights = next((u for u in config["users"] if u["id"] == user), None)
    readable = (rights or {}).get("objects", {}).get(action.raw["source_object"])
    if rights is None or readable is None:
        raise Refused("no_authority")
    if rights["records"] != "all" and record not in rights["records"]:
        raise Refused("record_unreadable")
    wanted = [row["source"] for row in action.raw["mappings"]]
    if not set(wanted) <= set(readable):
        raise Refused("field_unreadable")
    body = {row["target"]: fields[row["source"]] for row in action.raw["mappings"] if row["source"] in fields}
    if not body:
        raise Refused("body_empty")
    return body, {"user": user, "fields": wanted, "record": record}


def holds(config: Raw, attempt: Attempt) -> str | None:
    """Why a reserved attempt may not go out now, or None: slot, install, profile, credential, endpoint as frozen.

    Mapping, lookups and rights are not asked again: the request is frozen.
    """
    for pack in config["packs"]:
        for action in pack["actions"]:
            if pack["owner_key"] != attempt.frozen["owner_key"] or action["slot"] != attempt.action_slot:
                continue
            try:
                now = resolve(pack, {**action, "destination_slot": attempt.destination_slot}).frozen()
            except Refused as refused:
                return refused.reason
            changed = [name for name, value in now.items() if value != attempt.frozen[name]]
            return f"{changed[0]}_changed" if changed else None
    return "slot_unresolved"
