"""The retirement of key generations: RET-018."""

from __future__ import annotations

from tests.checkers.histories import (
    asked,
    at,
    drop_row,
    history,
    met,
    named,
    reservation,
    row_becomes,
    told,
    without_kind,
)

STALE = "mutation/retire-by-housekeeper/g1.housekeep.scan:read#1@pause+replacement/continue"
STALE_CANDIDATE = "mutation/retire-by-candidate/w2.invoke.prepare:begin#1@pause+replacement/continue"


class TestRet018:
    def test_a_stale_housekeeper_retires_the_replacement(self) -> None:
        h = history(STALE)
        assert named(row_becomes(h, reservation(h, "q2"), at(h, "answer", "g1"), state="Expired")) == {"RET-018"}

    def test_a_stale_housekeeper_deletes_the_replacement(self) -> None:
        h = history(STALE)
        assert named(drop_row(h, reservation(h, "q2"), at(h, "answer", "g1"))) == {"RET-018"}

    def test_a_stale_candidate_retires_the_replacement(self) -> None:
        h = history(STALE_CANDIDATE)
        assert "stale-candidate" in met(h, "RET-018")
        assert named(row_becomes(h, reservation(h, "q3"), told(h, "q2"), state="Expired")) == {"RET-018"}

    def test_a_replacement_that_came_and_went_between_two_looks(self) -> None:
        h = history(STALE)
        mine = reservation(h, "q2")
        h = drop_row(h, mine, 0, at(h, "answer", "g1"))
        assert "RET-018" in named(row_becomes(h, mine, state="Expired"))

    def test_near_miss_the_first_generation_is_deleted(self) -> None:
        # expired-state-representation: a retired row may be kept or deleted.
        h = history(STALE)
        assert named(drop_row(h, reservation(h, "q1"), asked(h, "q2"))) == set()

    def test_near_miss_the_replacement_is_retired_in_its_own_time(self) -> None:
        h = history(STALE)
        over = at(h, "time", nth=2)
        assert named(row_becomes(h, reservation(h, "q2"), over, state="Expired")) == set()
        assert named(drop_row(h, reservation(h, "q2"), over)) == set()

    def test_near_miss_a_driver_that_shows_no_reservations(self) -> None:
        assert named(without_kind(history(STALE), "reservations")) == set()
