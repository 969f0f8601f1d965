"""What the suite says of the queue table: nothing as it stands, and the right requirement for one wrong line."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conformance.carriers.subprocess import ProcessCarrier
from conformance.drivers import identify
from conformance.families.settle_lanes import SETTLE_LANES
from conformance.families.settle_lanes.commands import claim, deliver, execute, finish, load, read, row
from conformance.families.settle_lanes.config import (
    CONFIG,
    FAMILY,
    PAST_BACKOFF_MS,
    PAST_WINDOW_MS,
)
from conformance.outcome import Outcome, run_schedule
from conformance.search.program import SNAPSHOT, Op, Program, start, time

EXAMPLE = Path(__file__).parents[2] / "examples" / "queue_table"
Run = Callable[[Path], Outcome]


@contextmanager
def driven(folder: Path) -> Iterator[ProcessCarrier]:
    carrier = ProcessCarrier("queue-table", [sys.executable, str(folder / "driver.py")])
    carrier.rung = identify(carrier).rung
    try:
        yield carrier
    finally:
        carrier.shutdown()


def outcome(folder: Path, ops: tuple[Op, ...]) -> Outcome:
    with driven(folder) as carrier:
        found = run_schedule(SETTLE_LANES, Program("queue", FAMILY, CONFIG, ops, {}), carrier, {})
    assert found.problem is None
    return found


def with_one_line_changed(to: Path, file: str, right: str, wrong: str) -> Path:
    """A copy of the example, wrong in one line; the line has to be there exactly once."""
    shutil.copytree(EXAMPLE, to, ignore=shutil.ignore_patterns("__pycache__"))
    text = (to / file).read_text(encoding="utf-8")
    assert text.count(right) == 1
    assert "\n" not in right
    (to / file).write_text(text.replace(right, wrong), encoding="utf-8")
    return to


#: One row fails and waits for its backoff; the next delivery must not wait with it.
BACKOFF = (
    start("s1"),
    deliver("s1", "d1", "a"),
    time(PAST_WINDOW_MS),
    start("w1"),
    *execute("w1", "retryable"),
    deliver("s1", "d2", "b"),
    SNAPSHOT,
)
#: An executed generation of two, then a late row that compares before its head.
LATE = (
    start("s1"),
    load("s1", row(1, 1, 1), row(3, 3, 3)),
    start("w1"),
    *execute("w1"),
    load("s1", row(2, 2, 2)),
    *execute("w1"),
)
#: Three due rows on a cycle; the head has taken one in, fails, and another becomes due beside it.
CYCLE = (
    start("s1"),
    load("s1", row(1, 2, 1), row(2, 0, 2), row(3, 1, 3)),
    start("w1"),
    claim("w1"),
    read("w1"),
    finish("w1", "retryable"),
    time(PAST_BACKOFF_MS),
    *execute("w1"),
    *execute("w1"),
    *execute("w1"),
)

BUGS = {
    "a backoff is taken for an open window": (BACKOFF, "queue_table.py", " AND attempts = 0", "", "SETTLE-028"),
    "nobody remembers who took a row in": (
        LATE,
        "lane.py",
        "return any(end.id == row.served for end in ends)",
        "return False",
        "GEN-046",
    ),
    "a failed head leaves its rows behind": (
        CYCLE,
        "lane.py",
        "order = [row for row in reversed(order) if _loses_nothing(rows, row)]",
        "order = order[::-1]",
        "GEN-045",
    ),
}


@pytest.mark.parametrize("ops", [BACKOFF, LATE, CYCLE], ids=["backoff", "late", "cycle"])
def test_as_it_stands_nothing_is_wrong(ops: tuple[Op, ...]) -> None:
    found = outcome(EXAMPLE, ops)
    assert found.named == ()
    assert found.met


@pytest.mark.parametrize("bug", BUGS)
def test_one_wrong_line_is_named(bug: str, tmp_path: Path) -> None:
    ops, file, right, wrong, requirement = BUGS[bug]
    found = outcome(with_one_line_changed(tmp_path / "copy", file, right, wrong), ops)
    assert requirement in found.named
    assert len(found.named) <= 5
