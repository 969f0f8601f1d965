"""Edits of a configuration between two requests: each changes one thing that a request in flight has frozen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final

from conformance.families.connector_push.config import REPLAY_HEADER

Config = dict[str, Any]
Edit = Callable[[Config], None]


def edited(config: Mapping[str, Any], edit: Edit) -> Config:
    """The configuration after an edit; the one that is given stays as it is."""
    changed = deepcopy(dict(config))
    edit(changed)
    return changed


def route(config: Config) -> None:
    """Creates go to another path."""
    for action in _actions(config):
        action["create_path"] = action["create_path"].replace("/v1/", "/v2/")


def names(config: Config) -> None:
    """Every readable name is another one; slots, owner, install and destination stay."""
    for pack in config["packs"]:
        pack["namespace"] = "apex"
        for action in pack["actions"]:
            action.update(
                flow=f"{action['flow']}New",
                flow_version="2",
                name=f"{action['name']}_new",
                target_object=f"new_{action['target_object']}",
                profile=f"new-{action['profile']}",
            )
        for profile in pack["profiles"]:
            profile["name"] = f"new-{profile['name']}"


def key_header(config: Config) -> None:
    """The profile names another header for the key of a request."""
    for profile in _profiles(config):
        profile["replay"] = {"header": "X-Request-Key"}


def contract_declared(config: Config) -> None:
    """The profile declares repetitions as safe, which it did not."""
    for profile in _profiles(config):
        profile["replay"] = {"header": REPLAY_HEADER}


def contract_withdrawn(config: Config) -> None:
    """The profile declares repetitions as safe no more."""
    for profile in _profiles(config):
        profile["replay"] = None


def field_closed(config: Config) -> None:
    """The user may read one mapped field no more."""
    for user in config["users"]:
        user["objects"] = {name: [f for f in fields if f != "Name"] for name, fields in user["objects"].items()}


def records_closed(config: Config) -> None:
    """The user may read no record any more."""
    for user in config["users"]:
        user["records"] = []


def user_gone(config: Config) -> None:
    """The user who saved is gone, and somebody else is there."""
    for user in config["users"]:
        user["id"] = "bob"


def row_dropped(config: Config) -> None:
    """A mapping row is gone."""
    for action in _actions(config):
        action["mappings"] = [row for row in action["mappings"] if row["source"] != "Name"]


#: name -> edit, of everything that a frozen request must not feel. Credential, endpoint, install and destination slot
#: are no part of it: their change holds the request back (spec/tables, the drift matrix).
FROZEN: Final[Mapping[str, Edit]] = {
    "route": route,
    "names": names,
    "key-header": key_header,
    "contract-withdrawn": contract_withdrawn,
    "field-closed": field_closed,
    "records-closed": records_closed,
    "user-gone": user_gone,
    "row-dropped": row_dropped,
}


def _actions(config: Config) -> list[dict[str, Any]]:
    return [action for pack in config["packs"] for action in pack["actions"]]


def _profiles(config: Config) -> list[dict[str, Any]]:
    return [profile for pack in config["packs"] for profile in pack["profiles"]]
