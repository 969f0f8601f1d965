"""Windows, backoffs and leases that are nearly over: what breaks each, and what does not."""

from __future__ import annotations

from typing import Final

import pytest

from conformance.search.process import EPOCH_MS
from tests.settle.cases import Case, asked, case, claimed, met_in_the_first_alone, only_the_mutants_break
from tests.settle.edits import answer, both, clock, items, later, rows

WINDOW: Final = "window-nearly-over"
BACKOFF: Final = "backoff-nearly-over"
LEASE: Final = "lease-nearly-over"
MEANWHILE: Final = "lane/claimed-under-recovery/r1.reap.reclaim:begin#1@pause+claimed/continue"
CLAIMED: Final = ("lane.claim", 1)
OVER: Final = EPOCH_MS + 10_800
RECOVERED: Final = ("recover", 1)
#: The host stores an end of the lease that comes too early.
EARLY: Final = rows(1, since=CLAIMED, lease_expires_at=later(-5_000))
#: Of two rows of mode each the second is executed, and it alone.
SECOND: Final = (claimed(4, 9), answer("lane.input", 4, event=9, rows=[{"event": 9, "payload": "second"}]))

#: (requirement, mutants, near misses)
CASES: Final[tuple[tuple[str, tuple[Case, ...], tuple[Case, ...]], ...]] = (
    (
        "SETTLE-003",
        (case(WINDOW, claimed(1, 2)),),
        (case(WINDOW, answer("lane.claim", 1, status="unavailable")),),
    ),
    (
        "SETTLE-004",
        (case(BACKOFF, claimed(2, 1)),),
        (case(BACKOFF, answer("lane.claim", 2, status="unavailable")),),
    ),
    (
        "SETTLE-016",
        (case(WINDOW, answer("lane.metrics", 1, due=2)),),
        (case(WINDOW, answer("lane.metrics", 2, due=3)),),
    ),
    (
        "SETTLE-024",
        (
            case(WINDOW, rows(3, not_before=later(9_000)), items(3, run_after=later(9_000))),
            case(WINDOW, rows(4, not_before=later(9_000)), items(4, run_after=later(9_000))),
        ),
        # The window is over by then, and another one has been opened.
        (case(WINDOW, clock(wall_ms=OVER), *both(3, 4, time=OVER + 10_000)),),
    ),
    (
        "SETTLE-037",
        (case("existing-modes", *SECOND),),
        # Asked for by its name; the first waits for a time of its own.
        (
            case("existing-modes", *SECOND, asked(4, 9)),
            case("existing-modes", *SECOND, rows(4, not_before=EPOCH_MS + 50_000)),
        ),
    ),
    (
        "SETTLE-040",
        (
            case(LEASE, rows(1, since=RECOVERED, state="pending")),
            case(LEASE, rows(1, since=RECOVERED, token="another")),
            # The host stores an end that comes too early, and acts upon it.
            case(LEASE, EARLY, rows(1, since=RECOVERED, state="pending")),
            # A recovery that had found it before takes the new claim back.
            case(MEANWHILE, rows(1, since=("recover", 2), state="pending")),
            case(MEANWHILE, rows(1, since=("recover", 2), token=None)),
        ),
        (
            # An end that is stored too early, and never acted upon; a lease that was renewed.
            case(LEASE, EARLY),
            case(LEASE, rows(1, since=CLAIMED, lease_expires_at=later(50_000))),
            # It was taken back before the other worker claimed it, and not again.
            case(MEANWHILE, rows(1, since=("recover", 2), error="x")),
            # The lease is over indeed.
            case("lease-lost", rows(1, since=("lane.claim", 2), error="x")),
        ),
    ),
)


@pytest.mark.parametrize(("requirement", "mutants", "near"), CASES, ids=[c[0] for c in CASES])
def test_edits_break_it_and_near_misses_do_not(
    requirement: str, mutants: tuple[Case, ...], near: tuple[Case, ...]
) -> None:
    only_the_mutants_break(requirement, mutants, near)


#: (cell, a schedule that meets it, a similar one that does not)
CELLS: Final = (
    ("SETTLE-003/nearly-over", WINDOW, "window"),
    ("SETTLE-004/nearly-over", BACKOFF, "backoff"),
    ("SETTLE-016/nearly-over", WINDOW, "window"),
    ("SETTLE-024/nearly-over", WINDOW, "window"),
    ("SETTLE-040/recovery-nearly-over", LEASE, "untrusted-lease"),
    ("SETTLE-040/other-worker-nearly-over", LEASE, "untrusted-lease"),
    ("SETTLE-040/claimed-meanwhile", MEANWHILE, "claimed-under-recovery"),
)


@pytest.mark.parametrize(("cell", "meets", "does_not"), CELLS, ids=[c[0] for c in CELLS])
def test_a_cell_is_met_where_its_situation_is(cell: str, meets: str, does_not: str) -> None:
    met_in_the_first_alone(cell, meets, does_not)
