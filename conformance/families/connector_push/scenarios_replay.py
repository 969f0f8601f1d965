"""Scenarios of a permitted repetition: what may change before it, and the crashes after which there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.families.connector_push.commands import operate, save, work, write
from conformance.families.connector_push.config import ASSOCIATION, ASYNC, CONFIG, FAMILY, PAST_LEASE_MS, REPLAY, config
from conformance.families.connector_push.edits import FROZEN, contract_declared, edited
from conformance.search.program import SETTLE, Op, kill, recover, script, start, time
from conformance.search.scenario import Scenario

SYNCHRONOUS: Final = config(replay=True)
ASSOCIATED: Final = config(dispatch="asynchronous", replay=True, association=True)

#: No fault of the sweep: what these scenarios are about is in their scripts.
_AS_WRITTEN: Final[frozenset[str]] = frozenset()
_CRASHES: Final = frozenset({"crash"})

_RETRY = (start("e1"), save("e1", "r1"), recover("e1"), time(PAST_LEASE_MS), work("e1"), SETTLE, save("e1", "r1"))
#: The lease is over before anybody asks, so that a save or the recovery is the first to find the row.
_RETRY_LATE = (start("e1"), time(PAST_LEASE_MS), save("e1", "r1"), recover("e1"), SETTLE, work("e1"), save("e1", "r1"))


def _after_lost_answer(name: str) -> Scenario:
    """A worker's request is answered by nothing, one frozen thing is edited, and another worker repeats it."""
    return Scenario(
        f"push/replay-lost-{name}",
        FAMILY,
        REPLAY,
        (
            start("s1"),
            write("s1", "r1"),
            save("s1", "r1"),
            script("apply-then-drop"),
            work("s1"),
            start("w1", edited(REPLAY, FROZEN[name])),
            work("w1"),
        ),
        retry=_RETRY,
        strikes=_AS_WRITTEN,
        remote_faults=False,
    )


def _after_crash(name: str) -> Scenario:
    """A save dies while the remote holds its request, one frozen thing is edited, and a worker repeats it."""
    return Scenario(
        f"push/replay-crash-{name}",
        FAMILY,
        SYNCHRONOUS,
        (
            start("s1"),
            write("s1", "r1"),
            script("hold"),
            save("s1", "r1"),
            kill("s1"),
            time(PAST_LEASE_MS),
            start("w1", edited(SYNCHRONOUS, FROZEN[name])),
            work("w1"),
        ),
        retry=_RETRY,
        strikes=_AS_WRITTEN,
        remote_faults=False,
    )


def _declared(name: str, config: Mapping[str, Any], *sent: Op) -> Scenario:
    """A request goes out without a contract and its outcome is lost; what is declared afterwards is not for it."""
    declared = edited(config, contract_declared)
    return Scenario(
        f"push/declared-{name}",
        FAMILY,
        config,
        (start("s1"), write("s1", "r1"), *sent, time(PAST_LEASE_MS), start("w1", declared), work("w1")),
        retry=_RETRY,
        strikes=_AS_WRITTEN,
        remote_faults=False,
    )


REPLAYS: Final = (
    _declared("after-crash", CONFIG, script("hold"), save("s1", "r1"), kill("s1")),
    _declared("after-crash-of-worker", ASYNC, save("s1", "r1"), script("hold"), work("s1"), kill("s1")),
    _declared(
        "after-crash-deferred",
        ASSOCIATION,
        write("s1", "a1", source_object="Account"),
        write("s1", "r1", AccountId="a1"),
        save("s1", "r1"),
        save("s1", "a1", "Account"),
        script("hold"),
        work("s1"),
        kill("s1"),
    ),
    _declared("after-loss", CONFIG, script("apply-then-drop"), save("s1", "r1")),
    _declared("after-loss-of-worker", ASYNC, save("s1", "r1"), script("apply-then-drop"), work("s1")),
    *(_after_lost_answer(name) for name in FROZEN),
    *(_after_crash(name) for name in FROZEN),
    Scenario(
        "push/replay-lost-lookup",
        FAMILY,
        ASSOCIATED,
        (
            start("s1"),
            write("s1", "a1", source_object="Account"),
            write("s1", "a2", source_object="Account"),
            save("s1", "a1", "Account"),
            save("s1", "a2", "Account"),
            work("s1"),
            write("s1", "r1", AccountId="a1"),
            save("s1", "r1"),
            script("apply-then-drop"),
            work("s1"),
            write("s1", "r1", AccountId="a2"),
            start("w1"),
            work("w1"),
        ),
        retry=_RETRY,
        strikes=_AS_WRITTEN,
        remote_faults=False,
    ),
    Scenario(
        "push/replay-first-worker",
        FAMILY,
        REPLAY,
        (start("s1"), write("s1", "r1"), save("s1", "r1"), start("w1"), work("w1")),
        retry=_RETRY,
        strikes=_CRASHES,
        remote_faults=False,
    ),
    Scenario(
        "push/replay-first-save",
        FAMILY,
        SYNCHRONOUS,
        (start("s1"), write("s1", "r1"), start("w1"), save("w1", "r1")),
        retry=_RETRY_LATE,
        strikes=_CRASHES,
        remote_faults=False,
    ),
    Scenario(
        "push/replay-locked-mirror",
        FAMILY,
        SYNCHRONOUS,
        (
            start("s1"),
            write("s1", "r1", locked=True),
            save("s1", "r1"),
            write("s1", "r1", locked=False),
            start("w1"),
            work("w1"),
        ),
        retry=_RETRY,
        strikes=_CRASHES,
        remote_faults=False,
    ),
    # Every send that the frozen limit allows was lost; an operator found the record, and a worker dies over its mirror.
    Scenario(
        "push/replay-reconciled",
        FAMILY,
        REPLAY,
        (
            start("s1"),
            write("s1", "r1"),
            save("s1", "r1"),
            script("apply-then-drop", "apply-then-drop", "apply-then-drop"),
            work("s1"),
            work("s1"),
            work("s1"),
            operate("s1", "reconcile", "r1", remote_id="x77"),
            start("w1"),
            work("w1"),
        ),
        retry=_RETRY,
        strikes=_CRASHES,
        remote_faults=False,
    ),
)
