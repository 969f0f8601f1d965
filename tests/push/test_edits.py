"""What may change between a request and its repetition, and how the suite tells the two requests apart."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from conformance.families.connector_push.config import REPLAY
from conformance.families.connector_push.contract import PushContract
from conformance.families.connector_push.edits import FROZEN, edited, key_header, route

BODY = b'{"ref":"r1"}'


def key(headers: Mapping[str, str], path: str = "/v1/contacts", body: bytes = BODY) -> str | None:
    contract = PushContract([REPLAY, edited(REPLAY, key_header)])
    return contract.parse("POST", path, body, headers).key


@pytest.mark.parametrize("name", FROZEN)
def test_an_edit_changes_a_copy(name: str) -> None:
    assert edited(REPLAY, FROZEN[name]) != REPLAY
    assert edited(REPLAY, FROZEN[name]) == edited(REPLAY, FROZEN[name])


@pytest.mark.parametrize("name", FROZEN)
def test_no_edit_touches_what_holds_a_request_back(name: str) -> None:
    for before, after in zip(REPLAY["packs"], edited(REPLAY, FROZEN[name])["packs"], strict=True):
        assert (after["install"], after["owner_key"]) == (before["install"], before["owner_key"])
        for one, two in zip(before["profiles"], after["profiles"], strict=True):
            for member in ("destination_slot", "credential", "endpoint", "scope", "active"):
                assert two[member] == one[member]


def test_the_same_value_under_another_header_is_another_key() -> None:
    assert key({"Idempotency-Key": "k1"}) == "k1"
    assert key({"X-Request-Key": "k1"}) not in ("k1", None)
    assert key({}) is None


def test_a_key_is_read_on_any_path_and_with_any_body() -> None:
    assert key({"Idempotency-Key": "k1"}, path="/v9/elsewhere") == "k1"
    assert key({"Idempotency-Key": "k1"}, body=b"no JSON") == "k1"


def test_both_routes_of_an_edited_path_are_known() -> None:
    contract = PushContract([REPLAY, edited(REPLAY, route)])
    for path in ("/v1/contacts", "/v2/contacts"):
        assert contract.parse("POST", path, BODY, {}).marker == "r1"
