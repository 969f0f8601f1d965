"""Scenarios of what holds a slot or a locator: ends that come before any request, and ids in another spelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.families.connector_push.commands import delete, operate, restore, save, work, write
from conformance.families.connector_push.config import ASYNC, CONFIG, FAMILY, FOLDED, PAST_LEASE_MS, ROTATED
from conformance.search.program import SETTLE, Op, recover, script, start, time
from conformance.search.scenario import Scenario

#: No fault of the sweep: what these scenarios are about is in their scripts.
_AS_WRITTEN: Final[frozenset[str]] = frozenset()

_RETRY: Final = (
    start("e1"),
    save("e1", "r1"),
    recover("e1"),
    time(PAST_LEASE_MS),
    work("e1"),
    SETTLE,
    save("e1", "r1"),
)
_BOTH: Final = (start("e1"), save("e1", "r1"), save("e1", "r2"), time(PAST_LEASE_MS), work("e1"), save("e1", "r2"))


def _id(identity: str) -> dict[str, str]:
    return {"kind": "success", "identity": identity}


def _as_written(
    name: str,
    config: Mapping[str, Any],
    *ops: Op,
    retry: tuple[Op, ...] = _RETRY,
    seconds: Mapping[str, tuple[Op, ...]] | None = None,
) -> Scenario:
    return Scenario(
        f"push/{name}",
        FAMILY,
        config,
        ops,
        retry=retry,
        seconds=seconds or {},
        strikes=_AS_WRITTEN,
        remote_faults=False,
    )


def _reconciled(name: str, config: Mapping[str, Any], remote_id: str) -> Scenario:
    """An operator finds, for the one record, the id that belongs to the other."""
    return _as_written(
        name,
        config,
        start("s1"),
        write("s1", "r1"),
        write("s1", "r2"),
        script(_id("x9"), "apply-then-drop"),
        save("s1", "r1"),
        save("s1", "r2"),
        start("w1"),
        operate("w1", "reconcile", "r2", remote_id=remote_id),
        work("w1"),
        retry=_BOTH,
    )


SLOTS: Final = (
    # The record is gone ahead of the request, which fails its attempt; then the deletion is undone.
    _as_written(
        "gone-restored",
        ASYNC,
        start("s1"),
        write("s1", "r1"),
        save("s1", "r1"),
        delete("s1", "r1"),
        work("s1"),
        restore("s1", "r1"),
        start("w1"),
        save("w1", "r1"),
        work("w1"),
    ),
    # The same, the record being gone when its link is there and its mirror is not.
    _as_written(
        "gone-linked-restored",
        CONFIG,
        start("s1"),
        write("s1", "r1", locked=True),
        save("s1", "r1"),
        delete("s1", "r1"),
        work("s1"),
        restore("s1", "r1"),
        start("w1"),
        save("w1", "r1"),
        work("w1"),
    ),
    # A gate holds the attempt, and an operator gives it up.
    _as_written(
        "given-up",
        ASYNC,
        start("s1"),
        write("s1", "r1"),
        save("s1", "r1"),
        start("w1", ROTATED),
        operate("w1", "give_up", "r1"),
        save("w1", "r1"),
        work("w1"),
    ),
    _as_written(
        "mirror-exhausted",
        CONFIG,
        start("s1"),
        write("s1", "r1", locked=True),
        save("s1", "r1"),
        work("s1"),
        work("s1"),
        work("s1"),
        write("s1", "r1", locked=False),
        start("w1"),
        save("w1", "r1"),
        work("w1"),
    ),
    _as_written(
        "one-id-spelled",
        FOLDED,
        start("s1"),
        write("s1", "r1"),
        write("s1", "r2"),
        script(_id("X9"), _id("x9")),
        save("s1", "r1"),
        start("w1"),
        save("w1", "r2"),
        retry=_BOTH,
    ),
    _as_written(
        "one-id-spelled-at-once",
        FOLDED,
        start("s1"),
        write("s1", "r1"),
        write("s1", "r2"),
        script(_id("X9"), _id("x9")),
        start("w1"),
        save("w1", "r1"),
        retry=_BOTH,
        seconds={"other": (start("w2"), save("w2", "r2"))},
    ),
    _reconciled("one-id-reconciled", CONFIG, "x9"),
    _reconciled("one-id-spelled-reconciled", FOLDED, "X9"),
)
