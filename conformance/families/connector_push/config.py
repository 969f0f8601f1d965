"""The configurations that the scenarios of connector push use (spec/schema/config.connector-push.schema.json)."""

from __future__ import annotations

from typing import Any, Final

FAMILY: Final = "connector-push"
LEASE_MS: Final = 30_000
REQUEST_MS: Final = 120_000
#: More than one lease: whatever was held has run out.
PAST_LEASE_MS: Final = LEASE_MS + 5_000
#: A claim is well inside its lease.
INSIDE_MS: Final = LEASE_MS // 3
#: A lease that lasts no longer than this is nearly over.
MARGIN_MS: Final = 1_000
REPLAY_HEADER: Final = "Idempotency-Key"


def config(**changes: Any) -> dict[str, Any]:
    """One pack with a contact action.

    ``changes`` go by name: dispatch, replay, mappings, generation, association, form (of remote ids), general (worker).
    """
    contact = {
        "slot": "act-contact",
        "flow": "PushContact",
        "flow_version": "1",
        "name": "push_contact",
        "source_object": "Contact",
        "destination_slot": "dst-contact",
        "target_object": "contacts",
        "profile": "contacts",
        "dispatch": changes.get("dispatch", "synchronous"),
        "create_path": "/v1/contacts",
        "update_path": "/v1/contacts/{remote_id}",
        "response_id_path": "data.id",
        "mirror": {"remote_id_field": "RemoteId", "provenance_field": "RemoteSource"},
        "mappings": changes.get(
            "mappings", [{"source": "marker", "target": "ref"}, {"source": "Name", "target": "display_name"}]
        ),
        "associations": [],
    }
    actions = [contact]
    if changes.get("association"):
        account = {
            **contact,
            "slot": "act-account",
            "flow": "PushAccount",
            "name": "push_account",
            "source_object": "Account",
            "destination_slot": "dst-account",
            "target_object": "accounts",
            "profile": "accounts",
            "create_path": "/v1/accounts",
            "update_path": "/v1/accounts/{remote_id}",
        }
        contact["associations"] = [
            {
                "lookup": "AccountId",
                "object": "Account",
                "action_slot": "act-account",
                "destination_slot": "dst-account",
                "target": "account_id",
                "kind": "create_inline",
            }
        ]
        actions = [contact, account]
    return {
        "family": FAMILY,
        "packs": [
            {
                "install": "install-1",
                "owner_key": "owner-1",
                "namespace": "acme",
                "trusted": True,
                "actions": actions,
                "profiles": [_profile(action, changes) for action in actions],
            }
        ],
        "users": [
            {
                "id": "alice",
                "objects": {
                    "Contact": ["marker", "Name", "AccountId", "RemoteId", "RemoteSource"],
                    "Account": ["marker", "Name", "RemoteId", "RemoteSource"],
                },
                "records": "all",
            }
        ],
        "workers": {"general": changes.get("general", True), "lease_ms": LEASE_MS, "request_ms": REQUEST_MS},
    }


def _profile(action: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": action["profile"],
        "destination_slot": action["destination_slot"],
        "active": True,
        "credential": {"ref": "cred-1", "auth_type": "bearer", "generation": changes.get("generation", 1)},
        "endpoint": {"class": "rest", "binding": "binding-1", "generation": 1},
        "scope": "tenant-1",
        "remote_id_form": changes.get("form", "exact"),
        "retry": {"sends": 3, "mirror_tries": 3},
        "rejections": [422],
        "replay": {"header": REPLAY_HEADER} if changes.get("replay") else None,
    }


CONFIG: Final = config()
ASYNC: Final = config(dispatch="asynchronous")
REPLAY: Final = config(dispatch="asynchronous", replay=True)
#: The mapping was edited: a request built now has another body.
REPLAY_EDITED: Final = config(
    dispatch="asynchronous",
    replay=True,
    mappings=[{"source": "marker", "target": "ref"}, {"source": "Name", "target": "full_name"}],
)
#: The secret behind the credential was replaced: a reserved attempt must not go out under it.
ROTATED: Final = config(dispatch="asynchronous", generation=2)
ASSOCIATION: Final = config(association=True)
#: The general worker is switched off, and the narrow one serves the deferred lane.
NARROW: Final = config(association=True, general=False)
#: Remote ids that differ in case alone are one.
FOLDED: Final = config(form="case_insensitive")
