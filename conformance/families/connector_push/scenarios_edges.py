"""Scenarios at the edges of a lease: others come while a claim runs, when it is nearly over, and when it is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from conformance.families.connector_push.commands import save, work, write
from conformance.families.connector_push.config import (
    ASSOCIATION,
    ASYNC,
    CONFIG,
    FAMILY,
    INSIDE_MS,
    LEASE_MS,
    MARGIN_MS,
    NARROW,
    PAST_LEASE_MS,
    REPLAY,
)
from conformance.search.program import (
    SETTLE,
    Op,
    crash_after,
    kill,
    pause_after,
    pause_before,
    recover,
    release,
    script,
    start,
    time,
)
from conformance.search.scenario import Scenario

#: No fault of the sweep: what these scenarios are about is in their scripts.
_AS_WRITTEN: Final[frozenset[str]] = frozenset()
_CLAIM: Final = ("create_attempt", "pending", "processing")
_NEARLY: Final = time(LEASE_MS - MARGIN_MS - INSIDE_MS)
_OVER: Final = time(PAST_LEASE_MS - LEASE_MS + MARGIN_MS)

_WRITTEN: Final = (start("s1"), write("s1", "r1"))
_SAVED: Final = (*_WRITTEN, save("s1", "r1"))
#: A waiting row whose target has its link by now.
_READY: Final = (
    start("s1"),
    write("s1", "a1", source_object="Account"),
    write("s1", "r1", AccountId="a1"),
    save("s1", "r1"),
    save("s1", "a1", "Account"),
)


def _retry(config: Mapping[str, Any] | None = None) -> tuple[Op, ...]:
    """Everybody who may take a row up comes by, one lease past its end and another; ``config`` lets the others in."""
    came = (time(PAST_LEASE_MS, trusted=True), save("e1", "r1"), recover("e1"), work("e1"))
    return (start("e1", config), *came, *came, SETTLE, save("e1", "r1"))


def _edge(
    name: str,
    config: Mapping[str, Any],
    ahead: tuple[Op, ...],
    stopped: Callable[..., Op],
    claims: Op,
    *comes: Op,
    general: Mapping[str, Any] | None = None,
) -> Scenario:
    """A process dies or stops right behind its claim; others come well inside of its lease, near its end, behind it."""
    return Scenario(
        f"push/edge-{name}",
        FAMILY,
        config,
        (
            *ahead,
            start("w1"),
            stopped("w1", *_CLAIM),
            claims,
            start("w2"),
            time(INSIDE_MS),
            *comes,
            _NEARLY,
            *comes,
            _OVER,
            *comes,
            Op("resume", {"proc": "w1"}),
        ),
        retry=_retry(general),
        strikes=_AS_WRITTEN,
        remote_faults=False,
    )


def _sent(name: str, config: Mapping[str, Any]) -> Scenario:
    """The remote keeps a request, and another worker comes while the lease of its sender runs."""
    return Scenario(
        f"push/edge-{name}",
        FAMILY,
        config,
        (
            *_SAVED,
            script("hold"),
            start("w1"),
            work("w1"),
            start("w2"),
            time(INSIDE_MS),
            work("w2"),
            _NEARLY,
            work("w2"),
            release("w1"),
        ),
        retry=_retry(),
        strikes=_AS_WRITTEN,
        remote_faults=False,
    )


EDGES: Final = (
    _edge("worker", ASYNC, _SAVED, crash_after, work("w1"), save("w2", "r1"), work("w2")),
    _edge("recovery", CONFIG, _WRITTEN, crash_after, save("w1", "r1"), save("w2", "r1"), recover("w2")),
    _edge(
        "narrow",
        NARROW,
        _READY,
        crash_after,
        work("w1", "narrow"),
        save("w2", "r1"),
        recover("w2"),
        work("w2", "narrow"),
        general=ASSOCIATION,
    ),
    _edge("living-worker", ASYNC, _SAVED, pause_after, work("w1"), work("w2")),
    _edge("living-request", CONFIG, _WRITTEN, pause_after, save("w1", "r1"), recover("w2"), work("w2")),
    _edge("living-deferred", ASSOCIATION, _READY, pause_after, work("w1"), recover("w2"), work("w2")),
    # The clock says that the lease is over, and nobody attests the clock.
    Scenario(
        "push/edge-in-doubt",
        FAMILY,
        ASYNC,
        (
            *_SAVED,
            start("w1"),
            crash_after("w1", *_CLAIM),
            work("w1"),
            start("w2"),
            time(MARGIN_MS, wall_jump_ms=PAST_LEASE_MS, trusted=False),
            recover("w2"),
            work("w2"),
        ),
        retry=_retry(),
        strikes=_AS_WRITTEN,
        remote_faults=False,
    ),
    # Both have seen the pending row; the one goes on with its claim when the other has claimed.
    Scenario(
        "push/edge-race",
        FAMILY,
        ASYNC,
        (
            *_SAVED,
            start("w1"),
            pause_before("w1", *_CLAIM),
            work("w1"),
            start("w2"),
            pause_after("w2", *_CLAIM),
            work("w2"),
            Op("resume", {"proc": "w1"}),
        ),
        retry=_retry(),
        strikes=_AS_WRITTEN,
        remote_faults=False,
    ),
    _sent("at-remote", ASYNC),
    _sent("contract", REPLAY),
    # Two workers come to a request that may be repeated, and one is done with it at every point of the other.
    Scenario(
        "push/edge-replay-race",
        FAMILY,
        REPLAY,
        (*_SAVED, script("hold"), work("s1"), kill("s1"), time(PAST_LEASE_MS), start("w1"), work("w1")),
        retry=_retry(),
        seconds={"other": (start("w2"), work("w2"))},
        twice=("other",),
        strikes=_AS_WRITTEN,
        remote_faults=False,
    ),
)
