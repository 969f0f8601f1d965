"""Claims by name, distrusted clocks, lost leases, deliveries sent again: what breaks each, and what does not."""

from __future__ import annotations

from typing import Final

import pytest

from conformance.outcome import weigh
from tests.settle.edits import Edit, answer, clock, doubled, edited, gone, items, named, passing, rows
from tests.settle.runs import FAMILY

NO_ROW: Final = {"status": "nothing", "event": None}
HALF: Final = "lane/half-stored/s1.deliver.row:begin#2@fail/restart"


#: (requirement, scenario, edits): each is named.
BROKEN: Final[tuple[tuple[str, str, tuple[Edit, ...]], ...]] = (
    # Taken by name in its window, and in its backoff, while its lane is due by another row.
    ("SETTLE-021", "named-in-line", (answer("lane.claim", 1, status="claimed", event=2),)),
    ("SETTLE-021", "named-in-line", (answer("lane.claim", 3, status="claimed", event=1),)),
    # Not given by name: a fresh row, one that lost its lease, one that failed, one that stands behind untried ones.
    ("SETTLE-022", "named-again", (answer("lane.claim", 3, **NO_ROW),)),
    ("SETTLE-022", "named-again", (answer("lane.claim", 4, **NO_ROW),)),
    ("SETTLE-022", "named-again", (answer("lane.claim", 5, **NO_ROW),)),
    ("SETTLE-022", "foreign", (answer("lane.claim", 1, **NO_ROW),)),
    # A later row is taken behind one without an ordinal, and behind ones of existing modes.
    ("SETTLE-039", "busy-kinds", (answer("lane.claim", 4, status="claimed", event=2),)),
    ("SETTLE-039", "busy-kinds", (answer("lane.claim", 7, status="claimed", event=12),)),
    ("SETTLE-039", "busy-kinds", (answer("lane.claim", 7, status="claimed", event=22),)),
    # By a clock that is not trusted: recovery gives the row back, a poll takes it, another one does by its name.
    ("SETTLE-040", "untrusted-lease", (rows(1, since=("lane.input", 1), state="pending"),)),
    ("SETTLE-040", "untrusted-lease", (rows(1, since=("recover", 1), state="pending"),)),
    ("SETTLE-040", "untrusted-lease", (rows(1, since=("lane.claim", 3), token="another"),)),
    ("SETTLE-042", "sent-again-after-the-end", (rows(4, since=("lane.deliver", 4), state="pending", attempts=0),)),
    ("SETTLE-042", "sent-again-after-the-end", (rows(2, since=("lane.deliver", 6), state="pending"),)),
    ("SETTLE-042", "sent-again-after-the-end", (rows(6, since=("lane.deliver", 8), token=None),)),
    ("SETTLE-031", "sent-again-after-the-end", (doubled(2, ("lane.deliver", 3)),)),
    ("SETTLE-043", "leases-lost", (items(2, since=("lane.input", 3), state="processing"),)),
    ("SETTLE-044", HALF, (gone(2),)),
    ("SETTLE-032", "budget-after-a-long-wait", (answer("lane.claim", 2, **NO_ROW), answer("lane.claim", 3, **NO_ROW))),
    # Refused on the settled route, and granted on the other one.
    ("SETTLE-033", "replay-beside-a-burst", (answer("lane.replay", 1, status="refused", event=None),)),
    ("SETTLE-033", "replay-beside-a-burst", (answer("lane.replay", 2, status="refused", event=None),)),
    # The failed head, and the one that lost its lease, wait on behind the later row.
    ("SETTLE-037", "existing-superseded", (rows(11, since=("lane.finish", 3), state="pending"),)),
    ("SETTLE-037", "existing-superseded", (rows(31, since=("lane.finish", 3), state="pending"),)),
    ("SETTLE-037", "existing-lease-superseded", (rows(1, since=("recover", 1), state="pending"),)),
)


@pytest.mark.parametrize(("requirement", "scenario", "edits"), BROKEN)
def test_it_is_named(requirement: str, scenario: str, edits: tuple[Edit, ...]) -> None:
    assert requirement in named(edited(scenario, *edits))


#: (requirement, scenario, edits): none of these is its break.
NEAR: Final[tuple[tuple[str, str, tuple[Edit, ...]], ...]] = (
    # The row that is asked for stands ahead of another due one: whether it could be the head is a matter of reading.
    ("SETTLE-022", "one-delivery", (answer("lane.claim", 1, **NO_ROW),)),
    # It stands behind a row that has failed, which may have rows of its own.
    ("SETTLE-022", "named-in-line", (answer("lane.claim", 4, **NO_ROW),)),
    ("SETTLE-022", "named-again", (answer("lane.claim", 4, status="unavailable", event=None),)),
    ("SETTLE-021", "named-in-line", (answer("lane.claim", 1, status="claimed", event=1),)),
    ("SETTLE-039", "busy-kinds", (answer("lane.claim", 8, **NO_ROW),)),
    # The clock is trusted, or elapsed time says so as well.
    ("SETTLE-040", "untrusted-lease", (rows(1, since=("lane.input", 1), state="pending"), clock(trusted=True))),
    ("SETTLE-040", "untrusted-lease", (rows(1, since=("lane.input", 1), state="pending"), clock(mono_ms=10**6))),
    # A collapsed row has not ended anything by itself.
    ("SETTLE-042", "sent-again-after-the-end", (rows(1, since=("lane.deliver", 6), error="x"),)),
    ("SETTLE-043", "leases-lost", (rows(2, since=("recover", 1), error="x"),)),
    # Both are refused: what a host refused before, it may refuse now.
    (
        "SETTLE-033",
        "replay-beside-a-burst",
        tuple(answer("lane.replay", nth, status="refused", event=None) for nth in (1, 3)),
    ),
    ("SETTLE-037", "existing-superseded", (rows(11, since=("lane.finish", 4), error="x"),)),
)


@pytest.mark.parametrize(("requirement", "scenario", "edits"), NEAR)
def test_a_near_miss_is_not_named(requirement: str, scenario: str, edits: tuple[Edit, ...]) -> None:
    assert requirement not in named(edited(scenario, *edits))


#: (requirement, cell, scenario, edits that take the premise away).
PREMISES: Final[tuple[tuple[str, str, str, tuple[Edit, ...]], ...]] = (
    ("SETTLE-021", "named-in-a-due-lane", "named-in-line", (answer("lane.claim", 1, status="unavailable"), gone(1))),
    ("SETTLE-022", "named-after-lease", "named-again", (answer("lane.claim", 2, **NO_ROW),)),
    ("SETTLE-039", "zero-row-runs", "busy-kinds", (rows(1, 21, ordinal=1),)),
    ("SETTLE-040", "untrusted-recovery", "untrusted-lease", (clock(trusted=True),)),
    ("SETTLE-042", "dead-sent-again", "sent-again-after-the-end", (rows(3, 4, delivery="another"),)),
    ("SETTLE-031", "ended", "sent-again-after-the-end", (rows(2, 4, 6, since=("lane.claim", 1), state="pending"),)),
    ("SETTLE-043", "leases-lost", "leases-lost", (answer("lane.claim", 2, **NO_ROW),)),
    ("SETTLE-033", "dead-beside-a-burst", "replay-beside-a-burst", (rows(13, 15, state="processed"),)),
    ("SETTLE-037", "full_record-failed", "existing-superseded", (rows(21, since=("lane.load_rows", 2), state="dead"),)),
)


@pytest.mark.parametrize(("requirement", "cell", "scenario", "edits"), PREMISES)
def test_a_cell_occurs_with_its_premise_only(
    requirement: str, cell: str, scenario: str, edits: tuple[Edit, ...]
) -> None:
    assert weigh(FAMILY, passing(scenario), {}).met[requirement][cell]
    assert not weigh(FAMILY, edited(scenario, *edits), {}).met.get(requirement, {}).get(cell)


def test_a_row_that_died_of_lost_leases_is_not_taken_for_one_that_failed() -> None:
    assert not weigh(FAMILY, passing("leases-lost"), {}).met.get("SETTLE-042", {}).get("dead")
    assert weigh(FAMILY, passing("after-fatal"), {}).met["SETTLE-042"]["dead"]
