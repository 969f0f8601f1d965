"""What a denied observation shows: OBS-010, OBS-011; and OBS-038 behind a spend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.history import History
from tests.checkers.histories import (
    asked,
    at,
    attempt,
    changed,
    edit_rows,
    history,
    met,
    named,
    programs,
    row_becomes,
    told,
)

REVOKED = "mutation/revoked-keys"
UNSEEN = "mutation/unseen-keys"
WAIT = "mutation/revoked-wait"
READING = "mutation/revoked-replay/w1.invoke.lookup:read#1@pause+caller/continue"
KEYS = ("k1", "k2", "k3")


def _says(h: History, request_id: str, **members: object) -> History:
    place = told(h, request_id)
    return changed(h, place, result={**h.events[place].data["result"], **members})


class TestObs010:
    @pytest.mark.parametrize("key", KEYS)
    def test_a_denial_shows_the_attempt(self, key: str) -> None:
        h = history(REVOKED)
        shown = {"attempt": {"instance": "host-a", "id": attempt(h, "q1")}, "classification": "applied"}
        assert "OBS-010" in named(_says(h, f"denied-{key}", mutation=shown))

    def test_a_denial_shows_that_there_is_something(self) -> None:
        assert "OBS-010" in named(_says(history(UNSEEN), "same-k1", mutation={}))

    def test_access_goes_in_a_wait(self) -> None:
        h = history(WAIT)
        assert met(h, "OBS-010") == {"waiting"}
        nothing = {"classification": "unknown", "attempt": None, "original_request_id": None, "replayed": False}
        assert "OBS-010" in named(_says(h, "a-result", mutation=nothing))

    def test_access_goes_while_its_key_is_looked_up(self) -> None:
        h = history(READING)
        assert met(h, "OBS-010") == {"reading"}
        assert "OBS-010" in named(_says(h, "q2", mutation={"classification": "applied"}))

    def test_near_miss_the_original_is_answered_when_access_has_gone(self) -> None:
        # Its own caller is no observer: what it did is told, though it might not do so any more.
        h = history(WAIT)
        assert h.events[told(h, "q1")].data["result"]["mutation"]["classification"] == "applied"

    def test_near_miss_access_is_back(self) -> None:
        h = history(REVOKED)
        assert h.events[told(h, "q98")].data["result"]["mutation"]["classification"] == "applied"
        assert met(h, "OBS-010") == {"settled", "pending", "unknown"}


class TestObs011:
    @pytest.mark.parametrize("key", KEYS)
    def test_another_code_under_a_used_key(self, key: str) -> None:
        assert "OBS-011" in named(_says(history(REVOKED), f"denied-{key}", error={"code": "not_found"}))

    def test_one_more_member_under_a_used_key(self) -> None:
        error = {"code": "forbidden", "message": "gone since yesterday"}
        assert "OBS-011" in named(_says(history(REVOKED), "denied-k1", error=error))

    def test_near_miss_all_of_them_say_it(self) -> None:
        h = history(REVOKED)
        for key in (*KEYS, "k4"):
            h = _says(h, f"denied-{key}", error={"code": "not_found"})
        assert "OBS-011" not in named(h)

    def test_near_miss_another_question(self) -> None:
        # Denied for another input: nobody asked that under a fresh key.
        h = history(REVOKED)
        place = asked(h, "denied-k1")
        args = h.events[place].data["args"]
        other = {**args, "request": {**args["request"], "input": {**args["request"]["input"], "n": 7}}}
        h = changed(h, place, args=other)
        assert "OBS-011" not in named(_says(h, "denied-k1", error={"code": "not_found"}))


class TestObs038BehindASpend:
    def test_recovery_takes_the_spend_for_a_send(self) -> None:
        h = next(found for found in map(history, _crashes()) if "spent" in met(found, "OBS-038"))
        recovered = at(h, "answer", cmd="recover")
        assert "OBS-038" in named(row_becomes(h, attempt(h, "q1"), recovered, state="Indeterminate"))

    def test_recovery_gives_the_spend_back(self) -> None:
        h = next(found for found in map(history, _crashes()) if "spent" in met(found, "OBS-038"))
        recovered = at(h, "answer", cmd="recover")
        assert "OBS-038" in named(edit_rows(h, lambda kinds: {**kinds, "spends": []}, recovered))

    def test_near_miss_spends_are_not_shown(self) -> None:
        h = next(found for found in map(history, _crashes()) if "spent" in met(found, "OBS-038"))
        assert "OBS-038" not in named(edit_rows(h, _without_spends, at(h, "answer", cmd="recover")))


def _without_spends(kinds: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: rows for name, rows in kinds.items() if name != "spends"}


def _crashes() -> list[str]:
    return [name for name in programs("approvals/spend") if "@crash" in name]
