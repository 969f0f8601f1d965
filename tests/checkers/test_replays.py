"""What a repetition of a settled invocation tells: OBS-006, 050, 051, 052."""

from __future__ import annotations

import pytest

from tests.checkers.histories import (
    answer_says,
    asked,
    at,
    attempt,
    event,
    history,
    insert,
    met,
    named,
    observed,
    row_becomes,
    told,
    with_connection,
    without_rows,
)

PLAIN = "mutation/invoke-keyed"
REFUSED = "mutation/refusal"
LOST = "mutation/invoke-keyed/remote@apply-then-drop/continue"
ABORTED = "mutation/recover-prepared"
WAITED = "mutation/invoke-keyed/remote@hold+duplicate+{}/continue"


class TestObs006:
    @pytest.mark.parametrize("schedule", [PLAIN, REFUSED, LOST, ABORTED])
    def test_a_replay_without_its_attempt(self, schedule: str) -> None:
        h = history(schedule)
        assert "OBS-006" in named(observed(h, told(h, "q8"), attempt=None))

    @pytest.mark.parametrize("original", ["q8", None])
    def test_a_replay_of_another_request(self, original: str | None) -> None:
        h = history(PLAIN)
        assert "OBS-006" in named(without_rows(observed(h, told(h, "q8"), original_request_id=original)))

    @pytest.mark.parametrize("outcome", ["success", "definite-refusal", "apply-then-drop"])
    def test_a_wait_that_ends_as_its_own(self, outcome: str) -> None:
        h = history(WAITED.format(outcome))
        assert "after-wait" in met(h, "OBS-006")
        assert "OBS-006" in named(observed(h, told(h, "q2"), original_request_id="q2"))
        assert "OBS-006" in named(observed(h, told(h, "q2"), attempt=None))

    def test_near_miss_a_wait_is_no_replay(self) -> None:
        # waiter-replayed-flag: who calls stored results alone a replay may leave the ids of a wait out.
        h = history(WAITED.format("success"))
        alone = {"attempt": None, "original_request_id": None}
        assert "OBS-006" not in named(observed(h, told(h, "q2"), replayed=False, **alone))

    def test_near_miss_a_first_observation_names_nobody(self) -> None:
        h = history(PLAIN)
        assert h.events[told(h, "q1")].data["result"]["mutation"]["original_request_id"] is None
        assert named(h) == set()


class TestObs050:
    @pytest.mark.parametrize(
        ("classification", "code"), [("not_attempted", "unavailable"), ("unknown", "outcome_unknown")]
    )
    def test_a_replay_of_success_says_something_else(self, classification: str, code: str) -> None:
        h = history(PLAIN)
        told_so = answer_says(h, told(h, "q8"), classification, code)
        assert "OBS-050" in named(told_so)
        assert "OBS-050" in named(without_rows(told_so))

    def test_a_replay_rewrites_the_row(self) -> None:
        h = history(PLAIN)
        assert "OBS-050" in named(row_becomes(h, attempt(h, "q1"), told(h, "q8"), state="Indeterminate"))

    def test_near_miss_after_the_retention(self) -> None:
        h = history(PLAIN)
        assert met(h, "OBS-050") == {"other-request-id", "same-request-id"}
        assert "OBS-045" in named(answer_says(h, told(h, "q9"), "unknown", "outcome_unknown"))

    def test_near_miss_a_store_that_failed(self) -> None:
        h = history(PLAIN)
        failed = event("suite", "fault", "e1", point="invoke.lookup:read", action="fail", changes=[])
        h = insert(h, asked(h, "q8"), failed)
        assert "OBS-050" not in named(answer_says(h, told(h, "q8"), "unknown", "outcome_unknown"))

    def test_near_miss_access_that_was_gone_for_a_while(self) -> None:
        # Which of the configurations of its time a call came to see, its answer alone may tell.
        h = history(PLAIN)
        config = h.events[at(h, "config")].data["config"]
        for document in (config, {**config, "callers": []}):
            h = insert(h, asked(h, "q8"), event("suite", "config", "x1", config=document))
        denied = answer_says(h, told(h, "q8"), None, "forbidden")
        assert "OBS-050" not in named(denied)
        assert "OBS-050" not in named(without_rows(denied))


class TestObs051:
    def test_a_replay_of_a_refusal_says_something_else(self) -> None:
        h = history(REFUSED)
        told_so = answer_says(h, told(h, "q8"), "unknown", "outcome_unknown")
        assert "OBS-051" in named(told_so)
        assert "OBS-051" in named(without_rows(told_so))

    def test_a_refusal_is_tried_again(self) -> None:
        h = history(REFUSED)
        assert "OBS-051" in named(with_connection(h, asked(h, "q8"), "e1", "m1"))

    def test_near_miss_another_code(self) -> None:
        h = history(REFUSED)
        place = told(h, "q8")
        h = answer_says(h, place, "refused", "forbidden")
        assert "OBS-051" not in named(observed(h, place, replayed=True))


class TestObs052:
    @pytest.mark.parametrize(("classification", "code"), [("unknown", "outcome_unknown"), ("applied", None)])
    def test_a_replay_of_an_abort_says_something_else(self, classification: str, code: str | None) -> None:
        h = history(ABORTED)
        assert "OBS-052" in named(answer_says(h, told(h, "q8"), classification, code))

    def test_an_abort_is_sent_after_all(self) -> None:
        h = history(ABORTED)
        assert "OBS-052" in named(with_connection(h, asked(h, "q8"), "e1", "m1"))

    def test_near_miss_a_code_of_its_own(self) -> None:
        # recovery-cause: the cause of a row that recovery aborted is open.
        h = history(ABORTED)
        assert "OBS-052" not in named(answer_says(h, told(h, "q8"), "not_attempted", "timeout"))
