"""The window beside executions, other processes, other routes and redeliveries: what breaks it and what does not."""

from __future__ import annotations

from typing import Final

import pytest

from conformance.search.process import EPOCH_MS
from tests.settle.cases import Case, case, claimed, met_in_the_first_alone, only_the_mutants_break
from tests.settle.edits import answer, both, items, later, rows

#: When the second delivery of ``burst-behind-execution`` comes.
ARRIVED: Final = EPOCH_MS + 11_000
JOINED: Final = "lane/joined-fallback/s2.deliver.row:committed#1@crash/restart"

#: (requirement, mutants, near misses)
CASES: Final[tuple[tuple[str, tuple[Case, ...], tuple[Case, ...]], ...]] = (
    (
        "SETTLE-003",
        (
            # No window was opened for the burst, and it is executed as soon as the head before it has ended.
            case("burst-behind-execution", *both(2, 3, time=ARRIVED), claimed(2, 3)),
            # A window was opened that is far too short.
            case("burst-behind-execution", *both(2, 3, time=ARRIVED + 10), claimed(3, 3)),
            case("burst-behind-execution", *both(2, 3, time=None), claimed(2, 3)),
        ),
        (
            # What is lost is the window, which is not this requirement's: nothing of the burst was claimed.
            case("burst-behind-execution", *both(2, 3, time=ARRIVED)),
            # Rows that no delivery brought have the window that is stored on them, and none before.
            case("two-open", *both(1, 2, 3, time=EPOCH_MS)),
        ),
    ),
    (
        "SETTLE-004",
        (
            case("retry-before-window-ends", rows(1, since=("lane.finish", 1), not_before=later(8_000))),
            case("retry-after-window-ends", rows(1, since=("lane.finish", 1), not_before=later(-90_000))),
        ),
        (case("retry-before-window-ends", rows(1, since=("lane.finish", 1), not_before=later(100))),),
    ),
    (
        "SETTLE-016",
        # More than the collapsed rows can explain: the row that waits for its retry was counted too.
        (case("count-before-retry", answer("lane.metrics", 1, due=3)),),
        # Two may be the collapsed ones.
        (case("count-before-retry", answer("lane.metrics", 1, due=2)),),
    ),
    (
        "SETTLE-017",
        (
            case("count-behind-execution", answer("lane.metrics", 1, due=1)),
            case("count-behind-execution", answer("lane.metrics", 1, due=0)),
        ),
        # A host may count the row in execution as well.
        (case("count-behind-execution", answer("lane.metrics", 1, due=3)),),
    ),
    (
        "SETTLE-038",
        (
            case("count-before-retry", answer("lane.metrics", 1, due=2)),
            case("count-before-retry", answer("lane.metrics", 2, due=3)),
        ),
        # One may be the head itself, which waits for its retry.
        (case("count-before-retry", answer("lane.metrics", 1, due=1)),),
    ),
    (
        "SETTLE-020",
        (case(JOINED, items(2, run_after=later(3_000))),),
        (case(JOINED, *both(2, time=later(3_000))),),
    ),
    (
        "SETTLE-024",
        (
            case("joined-elsewhere", *both(2, 3, time=later(3_000))),
            case("joined-elsewhere", *both(5, time=later(3_000))),
        ),
        # A burst of another source, which opened its window a little later.
        (case("joined-elsewhere", *both(4, 5, time=later(100))),),
    ),
    (
        "SETTLE-027",
        (
            case("redelivered", rows(1, since=("lane.deliver", 2), not_before=later(3_000))),
            case("redelivered", items(2, since=("lane.deliver", 3), run_after=later(3_000))),
        ),
        (
            case("redelivered", rows(1, since=("lane.deliver", 2), not_before=later(-100))),
            # A failure moves the time of a row, and no arrival has done so.
            case("redelivered", rows(1, since=("lane.deliver", 2), not_before=later(90_000), attempts=1)),
        ),
    ),
    (
        "SETTLE-028",
        (
            case("burst-behind-execution", *both(2, 3, time=ARRIVED)),
            case("deliveries", *both(4, 5, time=EPOCH_MS + 10_001)),
        ),
        (
            case("burst-behind-execution", *both(2, 3, time=later(100))),
            case("burst", *both(3, time=later(-2_000))),
        ),
    ),
    (
        "SETTLE-030",
        (
            case("pair", *both(5, time=EPOCH_MS + 10_001)),
            case("pair", *both(6, time=EPOCH_MS + 11_001)),
        ),
        (case("pair", *both(5, time=later(100))),),
    ),
    (
        "SETTLE-014",
        (case("existing-beside-waiting", rows(5, not_before=EPOCH_MS + 10_000)),),
        (case("existing-beside-waiting", rows(5, not_before=EPOCH_MS)),),
    ),
    (
        "SETTLE-006",
        (
            case(
                "mixed-bursts",
                claimed(2, 1),
                answer("lane.input", 2, status="read", event=1, rows=[{"event": 1, "payload": "p1"}]),
                answer("lane.finish", 2, status="recorded", event=1),
            ),
        ),
        (case("mixed-bursts", rows(1, error="x")),),
    ),
)


@pytest.mark.parametrize(("requirement", "mutants", "near"), CASES, ids=[c[0] for c in CASES])
def test_edits_break_it_and_near_misses_do_not(
    requirement: str, mutants: tuple[Case, ...], near: tuple[Case, ...]
) -> None:
    only_the_mutants_break(requirement, mutants, near)


#: (cell, a schedule that meets it, a similar one that does not)
CELLS: Final = (
    ("SETTLE-003/behind-execution", "burst-behind-execution", "window"),
    ("SETTLE-004/window-ends-later", "retry-before-window-ends", "retry-after-window-ends"),
    ("SETTLE-004/window-ends-earlier", "retry-after-window-ends", "retry-before-window-ends"),
    ("SETTLE-006/mixed", "mixed-bursts", "burst"),
    ("SETTLE-014/beside-open", "existing-beside-waiting", "existing-modes"),
    ("SETTLE-017/lane-busy", "count-behind-execution", "burst"),
    ("SETTLE-020/joining-crash-after", JOINED, "lane/enqueue-fallback/s1.deliver.row:committed#1@crash/restart"),
    ("SETTLE-024/other-process", "joined-elsewhere", "window"),
    ("SETTLE-024/restarted", "joined-elsewhere", "window"),
    ("SETTLE-027/redelivered", "redelivered", "window"),
    ("SETTLE-028/sibling-running", "burst-behind-execution", "backoff"),
    ("SETTLE-028/sibling-ended", "deliveries", "burst"),
    ("SETTLE-030/same-event", "pair", "window"),
    ("SETTLE-038/head-waits-again", "count-before-retry", "burst"),
)


@pytest.mark.parametrize(("cell", "meets", "does_not"), CELLS, ids=[c[0] for c in CELLS])
def test_a_cell_is_met_where_its_situation_is(cell: str, meets: str, does_not: str) -> None:
    met_in_the_first_alone(cell, meets, does_not)
