"""Scenarios in which a record, a claim or an attempt is met for the second time: edited, retaken, failed, resumed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.families.connector_push.commands import operate, save, work, write
from conformance.families.connector_push.config import ASSOCIATION, ASYNC, CONFIG, FAMILY, PAST_LEASE_MS
from conformance.search.program import SETTLE, Op, crash_within, pause_after, recover, script, start, time
from conformance.search.scenario import Scenario

_NO_STRIKES: Final[frozenset[str]] = frozenset()
_CRASHES: Final = frozenset({"crash"})
_ATTEMPT: Final = "create_attempt"

#: What tempts into a second POST, as for the other scenarios; the narrow worker also takes up deferred rows.
_RETRY: Final = (
    start("e1"),
    save("e1", "r1"),
    recover("e1"),
    time(PAST_LEASE_MS),
    work("e1"),
    SETTLE,
    save("e1", "r1"),
)

#: One account with a link, one without.
_ACCOUNTS: Final = (
    start("s1"),
    write("s1", "a1", source_object="Account"),
    write("s1", "a2", source_object="Account"),
    save("s1", "a2", "Account"),
)


def _woken(name: str, config: Mapping[str, Any], *begun: Op) -> Scenario:
    """A holder stops right after its claim, another takes the claim over; the first wakes wherever the other stands."""
    return Scenario(
        f"push/{name}",
        FAMILY,
        config,
        (
            start("s1"),
            write("s1", "r1"),
            *begun[:-1],
            start("w1"),
            pause_after("w1", _ATTEMPT, "pending", "processing"),
            begun[-1],
            time(PAST_LEASE_MS),
            start("w2"),
            work("w2"),
        ),
        retry=_RETRY,
        seconds={"woken": (Op("resume", {"proc": "w1"}),)},
        remote_faults=False,
        strikes=_NO_STRIKES,
    )


def _scanned(who: str, config: Mapping[str, Any], late: Op, *begun: Op) -> Scenario:
    """A holder's lease ends while it commits its checkpoint, and a recovery has seen the row without one.

    The remote keeps the request, so that the recovery goes on while nobody knows what becomes of it.
    """
    return Scenario(
        f"push/scanned-{who}",
        FAMILY,
        config,
        (start("s1"), write("s1", "r1"), *begun[:-1], script("hold"), start("w1"), begun[-1]),
        retry=_RETRY,
        seconds={"scanned": (time(PAST_LEASE_MS), start(late.proc), late)},
        twice=("scanned",),
        remote_faults=False,
        strikes=_NO_STRIKES,
    )


def _resumed(name: str, config: Mapping[str, Any], ahead: tuple[Op, ...], dies: Op, resumes: Op) -> Scenario:
    """A holder died where it made the link, its id being staged: the pass that resumes has commits of its own."""
    return Scenario(
        f"push/{name}",
        FAMILY,
        config,
        (
            start("s1"),
            write("s1", "a1", source_object="Account"),
            write("s1", "r1", AccountId="a1"),
            *ahead,
            start("w0"),
            crash_within("w0", "remote_link", None, "finalized"),
            dies,
            time(PAST_LEASE_MS),
            start("w1"),
            resumes,
        ),
        retry=_RETRY,
        remote_faults=False,
        strikes=_CRASHES,
    )


LANE_SCENARIOS: Final = (
    # The waiting row is of the deferred lane; with its lookup edited, a save would go the configured one.
    Scenario(
        "push/lookup-filled",
        FAMILY,
        ASSOCIATION,
        (
            *_ACCOUNTS,
            write("s1", "r1", AccountId="a1"),
            save("s1", "r1"),
            write("s1", "r1", AccountId="a2"),
            save("s1", "r1"),
            write("s1", "r1", AccountId=""),
            start("w1"),
            save("w1", "r1"),
        ),
        retry=_RETRY,
        remote_faults=False,
    ),
    # The other way round: the row is configured, and a save would have to wait for a target.
    Scenario(
        "push/lookup-emptied",
        FAMILY,
        ASSOCIATION,
        (
            *_ACCOUNTS,
            write("s1", "r1", AccountId="a2"),
            script("apply-then-drop"),
            save("s1", "r1"),
            write("s1", "r1", AccountId="a1"),
            start("w1"),
            save("w1", "r1"),
        ),
        retry=(*_RETRY, save("e1", "a1", "Account"), work("e1")),
        remote_faults=False,
    ),
    # The lookup is edited while a worker is at work on the waiting row.
    Scenario(
        "push/lookup-at-work",
        FAMILY,
        ASSOCIATION,
        (
            start("s1"),
            write("s1", "a1", source_object="Account"),
            write("s1", "r1", AccountId="a1"),
            save("s1", "r1"),
            save("s1", "a1", "Account"),
            start("w1"),
            work("w1"),
        ),
        retry=_RETRY,
        seconds={"edited": (start("s2"), write("s2", "r1", AccountId=""), save("s2", "r1"))},
        remote_faults=False,
        strikes=_CRASHES,
    ),
    _woken("woken-worker", ASYNC, save("s1", "r1"), work("w1")),
    _woken("woken-request", CONFIG, save("w1", "r1")),
    _woken(
        "woken-deferred",
        ASSOCIATION,
        write("s1", "a1", source_object="Account"),
        write("s1", "r1", AccountId="a1"),
        save("s1", "r1"),
        # The target has its link in any case: what a sweep brings of the remote is for nobody here.
        script(),
        save("s1", "a1", "Account"),
        work("w1"),
    ),
    _scanned("worker", ASYNC, work("w2"), save("s1", "r1"), work("w1")),
    _scanned("request", CONFIG, recover("r2"), save("w1", "r1")),
    # Superseding closes the one attempt that it names: its successor, and another record, need an act of their own.
    Scenario(
        "push/superseded-once",
        FAMILY,
        CONFIG,
        (
            start("s1"),
            write("s1", "r1"),
            write("s1", "r2"),
            script("definite-refusal", "definite-refusal", "definite-refusal"),
            save("s1", "r1"),
            save("s1", "r2"),
            operate("s1", "supersede", "r1"),
            save("s1", "r1"),
            start("w1"),
            save("w1", "r1"),
            save("w1", "r2"),
        ),
        retry=(start("e1"), save("e1", "r1"), recover("e1"), work("e1"), SETTLE, save("e1", "r1"), save("e1", "r2")),
        remote_faults=False,
    ),
    _resumed("staged", CONFIG, (), save("w0", "r1"), work("w1")),
    _resumed("staged-recover", CONFIG, (), save("w0", "r1"), recover("w1")),
    _resumed(
        "staged-deferred",
        ASSOCIATION,
        (save("s1", "r1"), save("s1", "a1", "Account")),
        work("w0"),
        work("w1"),
    ),
)
