"""What an answer of the provider proves, and how observations look: OBS-002, 016, 021, 022, 045, 046, 049."""

from __future__ import annotations

import pytest

from conformance.history import History
from tests.checkers.histories import (
    answer_says,
    asked,
    at,
    attempt,
    changed,
    event,
    history,
    insert,
    met,
    named,
    observed,
    row_becomes,
    told,
    without_rows,
)

PLAIN = "mutation/invoke-keyed"
REFUSED = "mutation/refusal"
EMPTY = "mutation/invoke-keyed/remote@status-200-empty/continue"
MALFORMED = "mutation/invoke-keyed/remote@malformed/continue"
UNPROVEN = "mutation/unproven-refusal"
UNAUTHORISED = "mutation/invoke-unkeyed/remote@status-401/continue"
BROKEN = "mutation/invoke-keyed/remote@status-500/continue"
STALE = "mutation/stale-description"
NO_ANCHOR = "mutation/invoke-unkeyed/w1.invoke.prepare:commit#1@fail/continue"


def lies(schedule: str, classification: str, code: str | None) -> set[str]:
    """Whom a lie to the first caller names, from the wire and the answer alone."""
    h = history(schedule)
    return named(without_rows(answer_says(h, told(h, "q1"), classification, code)))


class TestObs002:
    @pytest.mark.parametrize("member", ["classification", "attempt", "original_request_id", "replayed", "cause"])
    def test_a_member_is_missing(self, member: str) -> None:
        h = history(PLAIN)
        assert "OBS-002" in named(observed(h, told(h, "q1"), **{member: ...}))

    def test_a_null_attempt_is_missing(self) -> None:
        h = history(NO_ANCHOR)
        assert met(h, "OBS-002") >= {"no-attempt"}
        assert "OBS-002" in named(observed(h, told(h, "q1"), attempt=...))

    def test_near_miss_an_answer_that_discloses_nothing(self) -> None:
        h = history(STALE)
        assert "mutation" not in h.events[told(h, "q1")].data["result"]
        assert named(h) == set()


class TestObs016:
    @pytest.mark.parametrize("schedule", [STALE, NO_ANCHOR])
    def test_the_classification_as_a_code(self, schedule: str) -> None:
        h = history(schedule)
        result = {**h.events[told(h, "q1")].data["result"], "error": {"code": "not_attempted"}}
        assert "OBS-016" in named(changed(h, told(h, "q1"), result=result))

    def test_near_miss_it_is_the_classification(self) -> None:
        h = history(NO_ANCHOR)
        assert h.events[told(h, "q1")].data["result"]["mutation"]["classification"] == "not_attempted"
        assert met(h, "OBS-016") == {"anchor"}

    def test_the_admission_cell_needs_a_stale_revision(self) -> None:
        assert met(without_rows(history(STALE)), "OBS-016") == {"admission"}
        assert met(without_rows(history(PLAIN)), "OBS-016") == set()


class TestObs021:
    @pytest.mark.parametrize("schedule", [EMPTY, MALFORMED])
    def test_a_status_of_success_is_told_as_applied(self, schedule: str) -> None:
        assert "OBS-021" in lies(schedule, "applied", None)

    def test_a_status_of_success_is_recorded_as_completed(self) -> None:
        h = history(EMPTY)
        assert "OBS-021" in named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state="Completed"))

    def test_near_miss_the_effect_was_named(self) -> None:
        h = history(PLAIN)
        assert h.events[told(h, "q1")].data["result"]["mutation"]["classification"] == "applied"
        assert met(h, "OBS-021") == set()


class TestObs022:
    @pytest.mark.parametrize("schedule", [UNPROVEN, UNAUTHORISED])
    def test_a_bare_status_is_told_as_refused(self, schedule: str) -> None:
        assert "OBS-022" in lies(schedule, "refused", "provider_refused")

    def test_a_bare_status_is_recorded_as_failed(self) -> None:
        h = history(UNPROVEN)
        assert "OBS-022" in named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state="Failed"))

    def test_near_miss_the_same_status_with_its_body(self) -> None:
        h = history(REFUSED)
        assert h.events[at(h, "response")].data["status"] == 422
        assert met(h, "OBS-022") == set()


class TestObs045:
    @pytest.mark.parametrize(("classification", "code"), [("unknown", "outcome_unknown"), ("applied", "timeout")])
    def test_success_is_told_as_something_else(self, classification: str, code: str) -> None:
        assert "OBS-045" in lies(PLAIN, classification, code)

    def test_success_is_recorded_as_something_else(self) -> None:
        h = history(PLAIN)
        assert "OBS-045" in named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state="Failed"))

    def test_near_miss_recovery_was_first(self) -> None:
        h = history("mutation/recover-beside-held-worker")
        assert met(h, "OBS-045") == set()


class TestObs046:
    @pytest.mark.parametrize(
        ("classification", "code"),
        [("not_attempted", "not_allowed"), ("unknown", "outcome_unknown"), ("refused", "outcome_unknown")],
    )
    def test_a_refusal_is_told_as_something_else(self, classification: str, code: str) -> None:
        assert "OBS-046" in lies(REFUSED, classification, code)

    def test_a_refusal_is_recorded_as_something_else(self) -> None:
        h = history(REFUSED)
        assert "OBS-046" in named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state="Indeterminate"))

    def test_near_miss_another_code(self) -> None:
        # provider-refusal-code: which base code a refusal takes is open.
        h = history(REFUSED)
        assert named(without_rows(changed(h, told(h, "q1"), result=_with_code(h, "forbidden")))) == set()

    def test_near_miss_the_deadline_passed(self) -> None:
        h = history(REFUSED)
        late = event("suite", "time", wall_ms=1_767_225_621_000, mono_ms=21_000, trusted=True)
        h = insert(h, asked(h, "q1"), late)
        assert "OBS-046" not in named(answer_says(h, told(h, "q1"), "unknown", "outcome_unknown"))


class TestObs049:
    @pytest.mark.parametrize("schedule", [BROKEN, UNPROVEN, EMPTY])
    @pytest.mark.parametrize(("classification", "code"), [("unknown", "unavailable"), ("not_attempted", "unavailable")])
    def test_an_open_effect_is_told_as_something_else(self, schedule: str, classification: str, code: str) -> None:
        assert "OBS-049" in lies(schedule, classification, code)

    @pytest.mark.parametrize(("classification", "code"), [("applied", None), ("refused", "provider_refused")])
    def test_an_error_of_the_server_is_believed(self, classification: str, code: str | None) -> None:
        assert "OBS-049" in lies(BROKEN, classification, code)

    def test_near_miss_a_cause_of_the_hosts_own(self) -> None:
        h = history(BROKEN)
        assert named(without_rows(observed(h, told(h, "q1"), cause="status_500"))) == set()


def _with_code(h: History, code: str) -> dict[str, object]:
    return {**h.events[told(h, "q1")].data["result"], "error": {"code": code}}
