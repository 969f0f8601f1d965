"""Bursts beside replays, distrusted clocks, lost leases, deliveries in part and in turns: what breaks each of them."""

from __future__ import annotations

from typing import Final

import pytest

from conformance.search.process import EPOCH_MS
from tests.settle.cases import Case, case, claimed, met_in_the_first_alone, only_the_mutants_break
from tests.settle.edits import add, answer, clock, flow, gone, items, later, rows

HALF: Final = "lane/half-delivered/s1.deliver.row:begin#2@fail/restart"
#: Another delivery is stored before the one that began first, and after it but before its answer.
BEFORE: Final = "lane/overlapping/s1.deliver.bulk:begin#1@pause+late/continue"
AFTER: Final = "lane/overlapping/s1.deliver.bulk:committed#1@pause+late/continue"
#: When the leases of ``leases-lost-alike`` are over.
BACK: Final = EPOCH_MS + 61_000
#: A poll of ``burst-beside-others`` inside the window, which finds the rows of replays due beside bursts.
POLL: Final = 7
TAKEN_IN: Final = (claimed(POLL, 10), rows(4, 5, since=("lane.claim", POLL), state="skipped"))
LOST: Final = ("recover", 1)

#: (requirement, mutants, near misses)
CASES: Final[tuple[tuple[str, tuple[Case, ...], tuple[Case, ...]], ...]] = (
    (
        "SETTLE-003",
        (
            # A burst is executed beside a row that has failed, after a recovery, and beside the row of a replay.
            case("burst-beside-others", claimed(4, 9)),
            case("burst-beside-others", claimed(5, 9)),
            # It was sent again, and is executed at once for that.
            case("burst-beside-others", claimed(6, 7)),
            case("burst-beside-others", claimed(POLL, 5)),
            # The replay made it due, and its fresh row takes it in.
            case("burst-beside-others", rows(4, 5, since=("lane.replay", 1), not_before=EPOCH_MS), *TAKEN_IN),
        ),
        (
            # The fresh row is due, and takes in what waits before it: membership is about order, not about the window.
            case("burst-beside-others", *TAKEN_IN),
            case("burst-beside-others", claimed(POLL, 10)),
            # The times were moved, and nothing was executed for it.
            case("burst-beside-others", rows(4, 5, since=("lane.replay", 2), not_before=EPOCH_MS + 900)),
        ),
    ),
    (
        "SETTLE-039",
        (
            case("untrusted-lease-holds-the-lane", claimed(3, 2)),
            case("untrusted-lease-holds-the-lane", claimed(4, 12)),
            case("untrusted-lease-holds-the-lane", claimed(5, 2)),
        ),
        (
            # The clock is trusted, or elapsed time says so as well: the lease is over.
            case("untrusted-lease-holds-the-lane", claimed(3, 2), clock(trusted=True)),
            case("untrusted-lease-holds-the-lane", claimed(3, 2), clock(mono_ms=10**6)),
        ),
    ),
    (
        "SETTLE-040",
        (
            case("execute", answer("lane.finish", 1, status="lost")),
            case("busy-kinds", answer("lane.finish", 5, status="lost")),
        ),
        # Its lease is over, though nobody has claimed the row again; or another worker holds it.
        (
            case("execute", answer("lane.finish", 1, status="lost"), rows(2, lease_expires_at=EPOCH_MS)),
            case("execute", answer("lane.finish", 1, status="unavailable")),
        ),
    ),
    (
        "SETTLE-004",
        (
            # What waits for its backoff is moved by the same delivery, by another one, and by a recovery.
            case("backoff-undisturbed", rows(1, since=("lane.deliver", 1), not_before=later(-50_000))),
            case("backoff-undisturbed", rows(1, since=("lane.deliver", 2), not_before=later(-50_000))),
            case("backoff-undisturbed", rows(1, since=("lane.deliver", 3), not_before=later(10_000))),
            case("backoff-undisturbed", rows(1, since=("recover", 1), not_before=None)),
            case("leases-lost-alike", rows(1, since=LOST, not_before=BACK + 10_000)),
            case("leases-lost-alike", items(1, since=LOST, run_after=BACK + 10_000)),
            case("leases-lost-alike", rows(1, since=LOST, not_before=BACK + 3_000)),
        ),
        (
            # Whether a backoff follows, or a pause that both modes have, is open.
            case("leases-lost-alike", rows(1, since=LOST, not_before=BACK + 100_000)),
            case("leases-lost-alike", rows(1, 11, since=LOST, not_before=BACK + 10_000)),
            case("leases-lost-alike", rows(1, since=LOST, not_before=BACK)),
        ),
    ),
    (
        "SETTLE-031",
        (case(HALF, gone(2)),),
        # Nobody was told that it is stored.
        (case(HALF, gone(2), answer("lane.deliver", 2, status="unavailable")),),
    ),
    (
        "SETTLE-005",
        # The Event was merged into the one that waits.
        (case("deliveries", gone(2)), case("window", gone(4))),
        (case("deliveries", gone(2), answer("lane.deliver", 2, status="unknown")),),
    ),
    (
        "SETTLE-024",
        # Rows of one delivery wait for one time, whatever is stored meanwhile.
        (case(AFTER, rows(2, not_before=later(100)), items(2, run_after=later(100))),),
        (case(BEFORE, rows(2, 3, not_before=later(100)), items(2, 3, run_after=later(100))),),
    ),
    (
        "SETTLE-028",
        # It joins a row that is due for its retry, and gets no window.
        (
            case("arrives-before-retry", rows(2, not_before=EPOCH_MS + 112_000)),
            case("arrives-before-retry", rows(2, not_before=None)),
        ),
        (case("arrives-before-retry", rows(2, not_before=later(100))),),
    ),
    (
        "ORDER-026",
        (
            case("in-turns-bulk", rows(3, ordinal=1)),
            case("in-turns-bulk", rows(5, ordinal=3)),
            case("in-turns-bulk", rows(6, ordinal=1)),
        ),
        # The Id decides between equal ordinals; of two deliveries that overlap, neither comes first.
        (case("in-turns-bulk", rows(3, ordinal=2)), case(AFTER, rows(3, ordinal=1))),
    ),
    (
        "ORDER-027",
        (case("in-turns-fallback", rows(3, ordinal=1)), case("in-turns-fallback", rows(7, ordinal=5))),
        (case("in-turns-fallback", rows(3, ordinal=2)),),
    ),
    (
        "GEN-046",
        (case("late-after-fatal", flow(2, add(1))), case("late-after-skip", flow(2, add(1)))),
        # The original of a replay is in the lane, and its siblings are asked for there.
        (case("late-after-fatal", flow(12, add(11))),),
    ),
    (
        "GEN-044",
        (case("upgrade-after-fatal", flow(4, add(3))), case("upgrade-after-skip", flow(4, add(3)))),
        (case("late-after-fatal", flow(2, add(1))),),
    ),
)


@pytest.mark.parametrize(("requirement", "mutants", "near"), CASES, ids=[c[0] for c in CASES])
def test_edits_break_it_and_near_misses_do_not(
    requirement: str, mutants: tuple[Case, ...], near: tuple[Case, ...]
) -> None:
    only_the_mutants_break(requirement, mutants, near)


#: (cell, a schedule that meets it, a similar one that does not)
CELLS: Final = (
    ("SETTLE-003/beside-replay", "burst-beside-others", "burst-behind-execution"),
    ("SETTLE-003/beside-retry", "burst-beside-others", "burst-behind-execution"),
    ("SETTLE-003/sent-again", "burst-beside-others", "burst-behind-execution"),
    ("SETTLE-040/report", "execute", "leases-lost"),
    ("SETTLE-004/undisturbed", "backoff-undisturbed", "retry"),
    ("SETTLE-039/untrusted", "untrusted-lease-holds-the-lane", "busy-kinds"),
    ("SETTLE-004/lease-lost", "leases-lost-alike", "lease-lost"),
    ("SETTLE-005/enqueued-beside-others", "deliveries", "enqueue-bulk"),
    ("SETTLE-028/sibling-due-again", "arrives-before-retry", "backoff"),
    ("SETTLE-031/half-stored-bulk", HALF, "half-delivered"),
    ("ORDER-026/in-turns", "in-turns-bulk", "joined-elsewhere"),
    ("ORDER-026/restarted", "in-turns-bulk", "deliveries"),
    ("ORDER-026/clock-back", "in-turns-bulk", "clock-jump"),
    ("ORDER-027/in-turns", "in-turns-fallback", "in-turns-bulk"),
    ("GEN-046/dead", "late-after-fatal", "late"),
    ("GEN-046/skipped", "late-after-skip", "late"),
    ("GEN-044/cyclic-dead", "upgrade-after-fatal", "upgrade"),
    ("GEN-044/cyclic-skipped", "upgrade-after-skip", "upgrade"),
)


@pytest.mark.parametrize(("cell", "meets", "does_not"), CELLS, ids=[c[0] for c in CELLS])
def test_a_cell_is_met_where_its_situation_is(cell: str, meets: str, does_not: str) -> None:
    met_in_the_first_alone(cell, meets, does_not)
