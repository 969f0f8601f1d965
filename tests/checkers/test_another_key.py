"""KEY-022 beside namespaces: what one key holds is neither shown nor held against the caller of another key."""

from __future__ import annotations

from typing import Final

from tests.checkers.broken_keys import makes_none, plainly, shows
from tests.checkers.histories import changed, history, named, told

LONG: Final = "mutation/long-keys"


def test_mutant_a_call_is_shown_the_original_of_another_key() -> None:
    assert "KEY-022" in named(shows(LONG, "q2", "q1")())


def test_mutant_a_call_hears_a_conflict_on_account_of_another_key() -> None:
    assert "KEY-022" in named(plainly(LONG, "q6", "idempotency_conflict")())


def test_near_miss_the_same_key_is_shown_its_original() -> None:
    assert "KEY-022" not in named(shows(LONG, "q3", "q1")())


def test_near_miss_a_key_is_refused_for_its_own_sake() -> None:
    h = makes_none(LONG, "q6")()
    refused = {"version": "v1alpha2", "request_id": "q6", "status": "error", "error": {"code": "invalid_input"}}
    assert history(LONG).events[told(h, "q6")].data["result"]["status"] == "success"
    assert "KEY-022" not in named(changed(h, told(h, "q6"), result=refused))
