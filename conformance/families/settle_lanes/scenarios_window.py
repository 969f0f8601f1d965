"""Scenarios of the settle window beside what else goes on: executions, other processes and routes, redeliveries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from conformance.families.settle_lanes.commands import claim, deliver, event, execute, finish, load, metrics, read, row
from conformance.families.settle_lanes.config import (
    CONFIG,
    MARGIN_MS,
    PAST_BACKOFF_MS,
    PAST_WINDOW_MS,
    WINDOW_MS,
    config,
    route,
)
from conformance.families.settle_lanes.scenarios import CRASHES, scenario
from conformance.search.process import EPOCH_MS
from conformance.search.program import Op, kill, recover, start, time
from conformance.search.scenario import Scenario

#: Far inside a window, so that one which is joined and one which is opened end at times that are told apart.
_INSIDE_MS: Final = 3_000
#: Shorter than a window, so that a successor's window ends after it.
_SHORT_BACKOFF_MS: Final = 2_000

_EXISTING: Final = ("preserve", "full", "latest", "each")

#: Kind ``pair`` goes to two settled routes.
_TWO_SETTLED: Final = config(route("settled", "settled", "settled", "pair"), route("other", "settled", "other", "pair"))
_SHORT_BACKOFF: Final = {**CONFIG, "retry": {**CONFIG["retry"], "backoff_ms": _SHORT_BACKOFF_MS}}


def _pair(source: str) -> dict[str, Any]:
    return event(f"pair-{source}", source, "pair")


_OPENING: Final = (
    # A burst comes while the head of its lane is executed, and its window is open when that head ends.
    scenario(
        "burst-behind-execution",
        start("s1"),
        deliver("s1", "d1", "a"),
        time(PAST_WINDOW_MS),
        start("w1"),
        claim("w1"),
        read("w1"),
        deliver("s1", "d2", "b", "c"),
        finish("w1"),
        *execute("w1"),
        start("w2"),
        claim("w2"),
        time(PAST_WINDOW_MS),
        *execute("w2"),
    ),
    # The same Event goes to two settled routes, on one of which its source waits already.
    replace(
        scenario(
            "pair",
            start("s1"),
            deliver("s1", "d1", event("a", "acme")),
            time(MARGIN_MS),
            deliver("s1", "d2", event("b", "beta", "other")),
            time(MARGIN_MS),
            deliver("s1", "d3", event("c", "gamma")),
            time(MARGIN_MS),
            deliver("s1", "d4", _pair("acme"), _pair("beta")),
            deliver("s1", "d5", _pair("gamma"), path="fallback"),
        ),
        config=_TWO_SETTLED,
    ),
    # Sources that are told apart by any comparison, and not by one of beginnings or of patterns.
    scenario(
        "names-alike",
        start("s1"),
        deliver("s1", "d1", event("a", "acme")),
        time(_INSIDE_MS),
        deliver("s1", "d2", event("b", "acme-2"), event("c", "ac_e"), event("d", "ac%"), event("e", "me")),
    ),
    # Rows of every existing mode wait for a time of their own, as an older version or another mode left them.
    scenario(
        "existing-beside-waiting",
        start("s1"),
        load(
            "s1",
            *(row(i, i, 0, route=name, not_before=EPOCH_MS + WINDOW_MS) for i, name in enumerate(_EXISTING, 1)),
        ),
        deliver("s1", "d1", *(event("a", kind=name) for name in _EXISTING)),
        deliver("s1", "d2", *(event("b", kind=name) for name in _EXISTING), path="fallback"),
    ),
)


def _joined_at_a_crash(path: str) -> Scenario:
    """The process dies while it stores a row that takes over an open timestamp."""
    return scenario(
        f"joined-{path}",
        start("s1"),
        deliver("s1", "d1", "a"),
        time(_INSIDE_MS),
        start("s2"),
        deliver("s2", "d2", "b", path=path),
        strikes=CRASHES,
    )


def _in_turns(path: str) -> Scenario:
    return scenario(
        f"in-turns-{path}",
        start("s1"),
        start("s2"),
        deliver("s1", "d1", "a", path=path),
        deliver("s2", "d2", "b", path=path),
        deliver("s1", "d3", "c", path=path),
        deliver("s2", "d4", "d", path=path),
        kill("s2"),
        start("s2"),
        deliver("s2", "d5", "e", path=path),
        time(0, wall_jump_ms=-MARGIN_MS),
        deliver("s2", "d6", "f", path=path),
        deliver("s1", "d7", "g", path=path),
    )


_JOINING: Final = (
    # The window was opened by another process, and by an earlier life of this one.
    scenario(
        "joined-elsewhere",
        start("s1"),
        deliver("s1", "d1", "a"),
        time(_INSIDE_MS),
        start("s2"),
        deliver("s2", "d2", "b"),
        deliver("s2", "d3", "c", path="fallback"),
        deliver("s2", "d4", event("d", "beta")),
        time(_INSIDE_MS),
        kill("s2"),
        start("s2"),
        deliver("s2", "d5", event("e", "beta")),
    ),
    # Two processes deliver to a lane in turns, one of them is started again, and the wall clock goes back.
    *(_in_turns(path) for path in ("bulk", "fallback")),
    # Another process delivers to the lane at every point of a delivery: neither of two that overlap comes first.
    scenario(
        "overlapping",
        start("s1"),
        deliver("s1", "d1", "a", "b"),
        late=(start("s2"), deliver("s2", "d9", "late")),
    ),
    _joined_at_a_crash("bulk"),
    _joined_at_a_crash("fallback"),
    # What waits is delivered again, by either path.
    scenario(
        "redelivered",
        start("s1"),
        deliver("s1", "d1", "a", "b"),
        time(_INSIDE_MS),
        deliver("s1", "d1", "a", "b"),
        time(_INSIDE_MS),
        deliver("s1", "d1", "a", "b", path="fallback"),
        time(PAST_WINDOW_MS - 2 * _INSIDE_MS),
        start("w1"),
        *execute("w1"),
    ),
)


def _retry_in_a_window(name: str, document: dict[str, Any], past_ms: int) -> Scenario:
    """A head fails while the window of a successor is open, and is retried when its backoff has passed."""
    made = scenario(
        name,
        start("s1"),
        deliver("s1", "d1", "a"),
        time(PAST_WINDOW_MS),
        start("w1"),
        claim("w1"),
        read("w1"),
        deliver("s1", "d2", "b"),
        finish("w1", "retryable"),
        time(past_ms),
        *execute("w1"),
    )
    return replace(made, config=document)


def _counted(name: str, *ops: Op) -> Scenario:
    """Three rows of one window have come due."""
    return scenario(name, start("s1"), deliver("s1", "d1", "a", "b", "c"), time(PAST_WINDOW_MS), start("w1"), *ops)


_EXECUTIONS: Final = (
    _retry_in_a_window("retry-before-window-ends", _SHORT_BACKOFF, _SHORT_BACKOFF_MS + MARGIN_MS),
    _retry_in_a_window("retry-after-window-ends", CONFIG, PAST_BACKOFF_MS),
    # While a row waits for its retry, its delivery is sent again, another one comes, and recovery runs.
    scenario(
        "backoff-undisturbed",
        start("s1"),
        deliver("s1", "d1", "a"),
        time(PAST_WINDOW_MS),
        start("w1"),
        *execute("w1", "retryable"),
        deliver("s1", "d1", "a"),
        deliver("s1", "d1", "a", path="fallback"),
        deliver("s1", "d2", "b"),
        recover("s1"),
        *execute("w1"),
        time(PAST_BACKOFF_MS),
        *execute("w1"),
    ),
    # Bursts of an upgrade without a cycle: the last row has no ordinal, the first has none, two ordinals are turned.
    scenario(
        "mixed-bursts",
        start("s1"),
        load("s1", row(1, 5, 1, source="a"), row(2, 0, 2, source="a")),
        load("s1", row(11, 0, 1, source="b"), row(12, 5, 2, source="b")),
        load("s1", row(21, 9, 1, source="c"), row(22, 5, 2, source="c"), row(23, 0, 3, source="c")),
        start("w1"),
        start("w2"),
        *(op for _ in range(3) for op in (*execute("w1"), *execute("w2"))),
    ),
    # The first row is executed by its name, and two are due behind it; a host may count the running one or not.
    _counted(
        "count-behind-execution",
        claim("w1", 1),
        metrics("s1"),
        read("w1"),
        finish("w1"),
        metrics("s1"),
        *execute("w1"),
    ),
    # The head waits for its retry, then is due again; what it has taken in is not.
    _counted(
        "count-before-retry",
        *execute("w1", "retryable"),
        metrics("s1"),
        time(PAST_BACKOFF_MS),
        metrics("s1"),
        *execute("w1"),
        metrics("s1"),
    ),
)

WINDOW_NEIGHBOURS: Final = (*_OPENING, *_JOINING, *_EXECUTIONS)
