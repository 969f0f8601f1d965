"""Which row of the order of checks a history is said to have exercised."""

from __future__ import annotations

import pytest

from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.precedence import precedence_rows
from conformance.families.mutation_host import MUTATION_HOST
from conformance.families.mutation_host.scenarios_admission import PAIRS
from conformance.history import History
from conformance.outcome import weigh
from tests.checkers.histories import asked, at, changed, event, history, insert, named, without_rows

PLAIN = "mutation/invoke-keyed"


def rows(of: History) -> set[str]:
    """The rows of the order of checks."""
    return set(weigh(MUTATION_HOST, of, {}).tables.get("precedence", {}))


@pytest.mark.parametrize("scenario", [s.id for s in PAIRS])
def test_of_two_rows_that_refuse_a_call_the_first_counts(scenario: str) -> None:
    first, _, _ = scenario.removeprefix("precedence/").partition("-before-")
    assert next(precedence_rows(Index(history(scenario)))) == first


def test_a_call_that_nothing_refuses_and_whose_answer_is_known_exercises_none() -> None:
    assert rows(history("approvals/needless")) == set()


def test_a_duplicate_exercises_the_row_of_its_key_whatever_it_is_told() -> None:
    h = history(PLAIN)
    assert rows(h) == {"equal_replayable"}
    assert named(without_rows(h)) == set()
    assert rows(without_rows(h)) == {"equal_replayable"}


def test_a_read_that_failed_ahead_of_the_key_exercises_the_index_and_not_the_key() -> None:
    h = history(PLAIN)
    for request_id in ("q8", "q1"):
        fault = event("suite", "fault", "e1", point="invoke.lookup:read", action="fail", changes=[])
        struck = insert(h, asked(h, request_id), fault)
        assert ("index_readable" in rows(struck)) == (request_id == "q8"), "w1 made q1"


def test_a_denied_call_exercises_nothing_behind_its_access() -> None:
    h = history(PLAIN)
    config = h.events[at(h, "config")].data["config"]
    assert rows(changed(h, at(h, "config"), config={**config, "callers": []})) == {"access"}
