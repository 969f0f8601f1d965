"""Scenarios of claims by name, held and lost claims, sent-again deliveries, and budgets beside a window."""

from __future__ import annotations

from typing import Final

from conformance.families.settle_lanes.commands import claim, deliver, event, execute, finish, load, read, replay, row
from conformance.families.settle_lanes.config import (
    BACKOFF_MS,
    BUDGET,
    LEASE_MS,
    MARGIN_MS,
    PAST_BACKOFF_MS,
    PAST_LEASE_MS,
    PAST_WINDOW_MS,
    WINDOW_MS,
)
from conformance.families.settle_lanes.scenarios import FAILING, scenario
from conformance.search.process import EPOCH_MS
from conformance.search.program import Op, kill, recover, start, time

_COALESCING: Final = ("preserve", "full", "latest")

_BY_NAME: Final = (
    # A row that waits is asked for by its name while its lane is due by another one: in its window, and in its backoff.
    scenario(
        "named-in-line",
        start("s1"),
        load("s1", row(1, 1, 0), row(2, 2, 0, not_before=EPOCH_MS + WINDOW_MS)),
        start("w1"),
        *execute("w1", named=2),
        *execute("w1", "retryable", named=1),
        time(PAST_WINDOW_MS),
        *execute("w1", named=1),
        time(PAST_BACKOFF_MS),
        *execute("w1", named=2),
    ),
    # Due rows are asked for by name: a fresh one, one that lost its lease, and one that failed.
    scenario(
        "named-again",
        start("s1"),
        load("s1", row(1, 1, 1), row(11, 11, 1, source="b"), row(21, 21, 1, source="c")),
        start("w1"),
        *execute("w1", "retryable", named=21),
        claim("w1", 1),
        read("w1"),
        kill("w1"),
        time(PAST_BACKOFF_MS),
        start("r1"),
        recover("r1"),
        start("w2"),
        # A host that takes lapsed claims back in its polls alone does so here.
        *execute("w2", named=11),
        *execute("w2", named=1),
        *execute("w2", named=21),
    ),
)

_HELD: Final = (
    # The running row has no ordinal, or is one of an existing mode; the later ones are asked for and polled for.
    scenario(
        "busy-kinds",
        start("s1"),
        load(
            "s1",
            row(1, 0, 1),
            row(11, 11, 1, source="b", route="preserve"),
            row(21, 0, 1, source="c", route="latest"),
        ),
        *(op for n, id_ in enumerate((1, 11, 21), 1) for op in (start(f"w{n}"), claim(f"w{n}", id_), read(f"w{n}"))),
        load(
            "s1",
            row(2, 2, 2),
            row(12, 12, 2, source="b", route="preserve"),
            row(22, 22, 2, source="c", route="latest"),
        ),
        start("w9"),
        *(op for id_ in (2, 12, 22) for op in execute("w9", named=id_)),
        *execute("w9"),
        load("s1", row(31, 31, 3, source="d")),
        *execute("w9"),
        *(finish(f"w{n}") for n in (1, 2, 3)),
        *execute("w9"),
    ),
    # The wall clock jumps beyond a lease and is not trusted: what is over by it is not over.
    scenario(
        "untrusted-lease",
        start("s1"),
        load("s1", row(1, 1, 1)),
        start("w1"),
        claim("w1"),
        read("w1"),
        time(1_000, wall_jump_ms=2 * LEASE_MS, trusted=False),
        start("r1"),
        recover("r1"),
        start("w2"),
        *execute("w2"),
        *execute("w2", named=1),
        time(1_000, wall_jump_ms=-2 * LEASE_MS, trusted=True),
        finish("w1"),
    ),
    # The same with later rows of two lanes, which another worker asks for and polls for.
    scenario(
        "untrusted-lease-holds-the-lane",
        start("s1"),
        load("s1", row(1, 1, 1), row(11, 11, 1, source="b", route="preserve")),
        *(op for n, id_ in enumerate((1, 11), 1) for op in (start(f"w{n}"), claim(f"w{n}", id_), read(f"w{n}"))),
        load("s1", row(2, 2, 2), row(12, 12, 2, source="b", route="preserve")),
        time(1_000, wall_jump_ms=2 * LEASE_MS, trusted=False),
        start("w3"),
        *execute("w3", named=2),
        *execute("w3", named=12),
        *execute("w3"),
        time(1_000, wall_jump_ms=-2 * LEASE_MS, trusted=True),
        finish("w1"),
        finish("w2"),
        *execute("w3"),
    ),
    # A row of a settled route and one of an existing mode lose their leases, and come back.
    scenario(
        "leases-lost-alike",
        start("s1"),
        load("s1", row(1, 1, 1), row(11, 11, 1, source="b", route="preserve"), row(21, 21, 1, source="c")),
        *(op for n, id_ in enumerate((1, 11), 1) for op in (start(f"w{n}"), claim(f"w{n}", id_), read(f"w{n}"))),
        kill("w1"),
        kill("w2"),
        time(PAST_LEASE_MS),
        start("r1"),
        recover("r1"),
        start("w3"),
        # A host that takes lapsed claims back in its polls alone does so here.
        *execute("w3", named=21),
        *execute("w3"),
        *execute("w3"),
    ),
    # Every worker dies with its claim, as often as the budget has attempts.
    scenario(
        "leases-lost",
        start("s1"),
        load("s1", row(1, 1, 1), row(2, 2, 2)),
        *(
            op
            for n in range(1, BUDGET + 1)
            for op in (start(f"w{n}"), claim(f"w{n}"), read(f"w{n}"), kill(f"w{n}"), time(PAST_LEASE_MS))
        ),
        start("r1"),
        recover("r1"),
        start("w9"),
        *execute("w9"),
    ),
)

#: Two rows of a source of their own that end as the name says, one lane after the other.
_OUTCOMES: Final = ("success", "fatal", "skip")


def _again(proc: str, path: str) -> tuple[Op, ...]:
    """Each of the deliveries of :data:`_OUTCOMES` is sent, or sent again."""
    return tuple(deliver(proc, f"d-{o}", event("a", o), event("b", o), path=path) for o in _OUTCOMES)


_SENT_AGAIN: Final = (
    scenario(
        "sent-again-after-the-end",
        start("s1"),
        start("w1"),
        *(
            op
            for first, outcome in zip(_again("s1", "bulk"), _OUTCOMES, strict=True)
            for op in (first, time(PAST_WINDOW_MS), *execute("w1", outcome))
        ),
        *_again("s1", "bulk"),
        *execute("w1"),
        time(PAST_LEASE_MS),
        start("r1"),
        recover("r1"),
        *_again("s1", "fallback"),
        *execute("w1"),
    ),
    # The fallback stores the row of one route, and fails before that of the other.
    scenario(
        "half-stored",
        start("s1"),
        deliver("s1", "d1", event("a", kind="both"), path="fallback"),
        strikes=frozenset({"fail"}),
        retry=(start("e1"), deliver("e1", "d1", event("a", kind="both"), path="fallback")),
    ),
    # It stores the first row of two, and the whole is sent again by the other path.
    scenario(
        "half-delivered",
        start("s1"),
        deliver("s1", "d1", "a", "b", path="fallback"),
        strikes=frozenset({"fail"}),
        retry=(start("e1"), deliver("e1", "d1", "a", "b")),
    ),
)

_ATTEMPTS: Final = (
    # A row has waited for longer than all of its attempts would take, and has every one of them.
    scenario(
        "budget-after-a-long-wait",
        start("s1"),
        deliver("s1", "d1", "a"),
        time((BUDGET + 1) * BACKOFF_MS),
        start("w1"),
        *FAILING,
    ),
    # In each coalescing mode that there was before, a failed head is behind a later row.
    scenario(
        "existing-superseded",
        start("s1"),
        load("s1", *(row(10 * n + 1, 10 * n + 1, 1, source=mode, route=mode) for n, mode in enumerate(_COALESCING, 1))),
        start("w1"),
        *(op for n in (1, 2, 3) for op in execute("w1", "retryable", named=10 * n + 1)),
        load("s1", *(row(10 * n + 2, 10 * n + 2, 2, source=mode, route=mode) for n, mode in enumerate(_COALESCING, 1))),
        time(PAST_BACKOFF_MS),
        *(op for _ in range(4) for op in execute("w1")),
    ),
    # Likewise a head that has lost its lease.
    scenario(
        "existing-lease-superseded",
        start("s1"),
        load("s1", row(1, 1, 1, route="full")),
        start("w1"),
        claim("w1"),
        read("w1"),
        kill("w1"),
        load("s1", row(2, 2, 2, route="full")),
        time(PAST_LEASE_MS),
        start("r1"),
        recover("r1"),
        start("w2"),
        *execute("w2"),
        *execute("w2"),
    ),
)

#: Two Events of each of three sources.
_BURSTS: Final = tuple(event(text, source) for source in "abc" for text in ("next", "last"))

_REPLAYS: Final = (
    # Ended rows are replayed while fresh rows of their lanes wait: on a settled route in an open window.
    scenario(
        "replay-beside-a-burst",
        start("s1"),
        load(
            "s1",
            *(
                row(base + n, base + n, 1, source=source, route=route)
                for base, route in ((0, "settled"), (10, "preserve"))
                for n, source in ((1, "a"), (2, "b"))
            ),
        ),
        start("w1"),
        *(op for base in (0, 10) for op in (*execute("w1", "fatal", base + 1), *execute("w1", "success", base + 2))),
        deliver("s1", "d1", *(event("next", source, kind="both") for source in ("a", "b"))),
        *(replay("s1", base + n) for base in (0, 10) for n in (1, 2)),
        time(PAST_WINDOW_MS),
        *(op for _ in range(4) for op in execute("w1")),
    ),
    # A burst stays in its window whatever is done to other rows of its lane, and when it is sent again.
    scenario(
        "burst-beside-others",
        start("s1"),
        load("s1", *(row(n, n, 1, source=source) for n, source in enumerate("abc", 1))),
        start("w1"),
        *execute("w1", "fatal", named=1),
        *execute("w1", "success", named=2),
        claim("w1", 3),
        read("w1"),
        deliver("s1", "d1", *_BURSTS),
        finish("w1", "retryable"),
        *execute("w1"),
        start("r1"),
        recover("r1"),
        *execute("w1"),
        *(deliver("s1", "d1", *_BURSTS, path=path) for path in ("bulk", "fallback")),
        *execute("w1"),
        replay("s1", 1),
        replay("s1", 2),
        time(MARGIN_MS),
        *execute("w1"),
        *execute("w1"),
        time(PAST_WINDOW_MS),
        *(op for _ in range(3) for op in execute("w1")),
    ),
)

CLAIMS: Final = (*_BY_NAME, *_HELD, *_SENT_AGAIN, *_ATTEMPTS, *_REPLAYS)
