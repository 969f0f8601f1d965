"""Admission, conflicts and codes: every checker fails on edited histories and passes what looks like them."""

from __future__ import annotations

import pytest

from tests.checkers.edits import Edit, Mutant, code, message, observed, sent, succeeds
from tests.checkers.histories import history, met, named

STRANGERS = "admission/strangers"
REFUSALS = "admission/refusals"
CONFLICTS = "admission/conflicts"
UNSETTLED = "admission/conflicts-unsettled"
CREDENTIALS = "admission/credentials"
REFUSED_BY_PROVIDER = "mutation/invoke-keyed/remote@definite-refusal/continue"
DIGEST = "334c823ebaede91885266197f5787f5fccb91b20c8a5daa8ced1734cae59b323"


def pair(name: str) -> str:
    return f"precedence/{name}"


MUTANTS: list[Mutant] = [
    ("CODE-005", CONFLICTS, code("q2", "forbidden")),
    ("CODE-005", CONFLICTS, sent("q3")),
    ("CODE-005", UNSETTLED, code("q2", "outcome_unknown")),
    ("CODE-005", "mutation/rival-request", code("q1", "unavailable")),
    ("CODE-007", CONFLICTS, message("the key belongs to q1", "q2")),
    ("CODE-007", "mutation/other-request", message("wait for it", "input-k1")),
    ("CODE-007", CONFLICTS, message(f"stored: {DIGEST}", "q2")),
    ("CODE-007", UNSETTLED, message("it is Pending", "q4")),
    ("CODE-008", CONFLICTS, message("operation differs", "q3")),
    ("CODE-008", CONFLICTS, observed("q5", cause="revision")),
    ("CODE-012", CONFLICTS, code("q2", "attempt_in_progress")),
    ("CODE-012", REFUSED_BY_PROVIDER, code("q1", "provider_refused")),
    ("EXEC-001", REFUSALS, code("q12", "idempotency_conflict")),
    ("EXEC-001", pair("envelope-before-access"), code("q1", "forbidden")),
    ("EXEC-002", pair("access-before-input_shape"), code("q1", "invalid_input")),
    ("EXEC-002", pair("access-before-input_shape"), succeeds("q1")),
    ("EXEC-004", STRANGERS, code("s2", "stale_description")),
    ("EXEC-004", STRANGERS, message("no binding", "s4")),
    ("EXEC-006", STRANGERS, code("s2", "stale_description")),
    ("EXEC-006", STRANGERS, code("s3", "not_found")),
    *(("EXEC-006", STRANGERS, code(who, "stale_description")) for who in ("c0", "o0")),
    ("EXEC-006", "mutation/unseen-keys", code("stale", "stale_description")),
    ("EXEC-007", pair("freshness-before-enablement"), code("q1", "forbidden")),
    ("EXEC-007", pair("freshness-before-enablement"), sent("q1")),
    ("EXEC-008", REFUSALS, code("q5", "not_found")),
    ("EXEC-008", REFUSALS, sent("q5")),
    ("EXEC-009", REFUSALS, code("q3", "forbidden")),
    ("EXEC-009", REFUSALS, code("q4", "unavailable")),
    ("EXEC-010", pair("enablement-before-input_shape"), code("q1", "invalid_input")),
    ("EXEC-010", pair("enablement-before-input_shape"), sent("q1")),
    ("EXEC-011", REFUSALS, code("q11", "idempotency_conflict")),
    ("EXEC-011", REFUSALS, sent("q11")),
    ("EXEC-012", REFUSALS, code("q7", "not_found")),
    ("EXEC-012", pair("input_shape-before-input_scope"), code("q1", "forbidden")),
    ("EXEC-013", REFUSALS, observed("q2")),
    ("EXEC-013", REFUSALS, observed("q8", classification="unknown")),
    ("EXEC-016", CREDENTIALS, observed("q-missing", classification="unknown")),
    ("EXEC-016", CREDENTIALS, observed("o-expired", cause=None)),
    ("EXEC-016", CREDENTIALS, sent("o-refused")),
    ("EXEC-021", CREDENTIALS, code("q8", "unavailable")),
    ("EXEC-021", CREDENTIALS, code("q9", "unavailable")),
]
_ALL_STRANGERS = [f"s{n}" for n in range(1, 8)]
_ALL_REFUSALS = [*(f"q{n}" for n in range(1, 10)), "q11", "q12"]


NEAR: list[tuple[str, str, Edit]] = [
    ("a message that all strangers hear", STRANGERS, message("no", *_ALL_STRANGERS)),
    ("a message for who does not reach the connection", STRANGERS, message("no", "c0", "c1")),
    ("a message with each refusal", REFUSALS, message("no", *_ALL_REFUSALS)),
    ("another code for what is out of scope", REFUSALS, code("q7", "invalid_input")),
    ("a message with each conflict", CONFLICTS, message("the key is taken", *(f"q{n}" for n in range(2, 8)))),
    ("a message with conflicts of every state", UNSETTLED, message("taken", "q2", "q4")),
    ("a cause of its own for a credential", CREDENTIALS, observed("q-missing", cause="sign in first")),
    ("a cause that is no code", REFUSED_BY_PROVIDER, observed("q1", cause="not today")),
    *(
        (f"a message at {name}", pair(name), message("no", "q1"))
        for name in (
            "envelope-before-access",
            "access-before-input_shape",
            "freshness-before-enablement",
            "enablement-before-input_shape",
        )
    ),
]


@pytest.mark.parametrize(("requirement", "schedule", "edit"), MUTANTS)
def test_an_edited_history_is_named(requirement: str, schedule: str, edit: Edit) -> None:
    assert requirement in named(edit(history(schedule)))


@pytest.mark.parametrize(("schedule", "edit"), [near[1:] for near in NEAR], ids=[near[0] for near in NEAR])
def test_near_miss(schedule: str, edit: Edit) -> None:
    whole = history(schedule)
    edited = edit(whole)
    assert edited != whole
    assert named(edited) == set()


def test_each_state_of_the_holder_is_met() -> None:
    assert met(history(UNSETTLED), "CODE-005") == {"quarantined", "pending"}
    assert met(history(CONFLICTS), "CODE-007") == {"replayable"}
