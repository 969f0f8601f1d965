"""The scenarios of connector push. Each is a short script; faults and second actors are added by the sweep."""

from __future__ import annotations

from typing import Final

from conformance.families.connector_push.commands import delete, operate, save, work, write
from conformance.families.connector_push.config import (
    ASSOCIATION,
    ASYNC,
    CONFIG,
    FAMILY,
    PAST_LEASE_MS,
    REPLAY,
    REPLAY_EDITED,
)
from conformance.search.program import SETTLE, SNAPSHOT, recover, script, start, time
from conformance.search.scenario import Scenario

#: Another save of the record, by another process.
_SAVE = (start("w2"), save("w2", "r1"))
#: The lease runs out while its holder is still at work, and another worker makes a pass.
_TAKEN = (time(PAST_LEASE_MS), start("w2"), work("w2"))
_WORKER = (start("w2"), work("w2"))
_EDIT = (start("s2"), write("s2", "r1", Name="another name"))
_RECOVER = (start("r2"), recover("r2"))

#: What tempts into a second POST: a save, recovery, the lease's end, a worker, and a save again.
_RETRY = (
    start("e1"),
    save("e1", "r1"),
    recover("e1"),
    time(PAST_LEASE_MS),
    work("e1"),
    SETTLE,
    save("e1", "r1"),
)

TAIL: Final = (time(PAST_LEASE_MS), recover("e1"), work("e1"), SETTLE, SNAPSHOT)

_SAME_ID = {"kind": "success", "identity": "x9"}

SCENARIOS: Final = (
    Scenario(
        "push/synchronous",
        FAMILY,
        CONFIG,
        (start("s1"), write("s1", "r1"), start("w1"), save("w1", "r1")),
        retry=_RETRY,
        seconds={"save": _SAVE, "taken": _TAKEN, "edit": _EDIT, "recover": _RECOVER, "worker": _WORKER},
    ),
    Scenario(
        "push/reserve",
        FAMILY,
        ASYNC,
        (start("s1"), write("s1", "r1"), start("w1"), save("w1", "r1")),
        retry=_RETRY,
        seconds={"save": _SAVE},
    ),
    Scenario(
        "push/worker",
        FAMILY,
        ASYNC,
        (start("s1"), write("s1", "r1"), save("s1", "r1"), start("w1"), work("w1")),
        retry=_RETRY,
        seconds={"save": _SAVE, "taken": _TAKEN, "worker": _WORKER, "taken-save": (*_TAKEN, *_SAVE)},
    ),
    Scenario(
        "push/terminal",
        FAMILY,
        CONFIG,
        (start("w1"), write("w1", "r1"), script("definite-refusal"), save("w1", "r1"), save("w1", "r1")),
        retry=(start("e1"), save("e1", "r1"), work("e1"), SETTLE, save("e1", "r1")),
        remote_faults=False,
    ),
    Scenario(
        "push/superseded",
        FAMILY,
        CONFIG,
        (
            start("s1"),
            write("s1", "r1"),
            script("definite-refusal"),
            save("s1", "r1"),
            start("w1"),
            operate("w1", "supersede", "r1"),
            save("w1", "r1"),
        ),
        retry=_RETRY,
        seconds={"save": _SAVE},
        remote_faults=False,
    ),
    Scenario(
        "push/locked-mirror",
        FAMILY,
        CONFIG,
        (
            start("s1"),
            write("s1", "r1", locked=True),
            save("s1", "r1"),
            write("s1", "r1", locked=False),
            start("w1"),
            work("w1"),
        ),
        retry=_RETRY,
        seconds={"save": _SAVE, "taken": _TAKEN},
        remote_faults=False,
    ),
    Scenario(
        "push/reconciled",
        FAMILY,
        CONFIG,
        (
            start("s1"),
            write("s1", "r1"),
            script("apply-then-drop"),
            save("s1", "r1"),
            start("w1"),
            operate("w1", "reconcile", "r1", remote_id="x77"),
            work("w1"),
        ),
        retry=_RETRY,
        seconds={"save": _SAVE},
        remote_faults=False,
    ),
    Scenario(
        "push/replay",
        FAMILY,
        REPLAY,
        (
            start("s1"),
            write("s1", "r1"),
            save("s1", "r1"),
            script("apply-then-drop"),
            work("s1"),
            write("s1", "r1", Name="another name"),
            start("w1", REPLAY_EDITED),
            work("w1"),
        ),
        retry=_RETRY,
        seconds={"taken": _TAKEN, "worker": _WORKER},
        remote_faults=False,
    ),
    Scenario(
        "push/one-id",
        FAMILY,
        CONFIG,
        (
            start("s1"),
            write("s1", "r1"),
            write("s1", "r2"),
            script(_SAME_ID, _SAME_ID),
            start("w1"),
            save("w1", "r1"),
            start("w2"),
            save("w2", "r2"),
        ),
        retry=(start("e1"), save("e1", "r1"), save("e1", "r2"), time(PAST_LEASE_MS), work("e1"), save("e1", "r2")),
        remote_faults=False,
    ),
    Scenario(
        "push/one-id-at-once",
        FAMILY,
        CONFIG,
        (
            start("s1"),
            write("s1", "r1"),
            write("s1", "r2"),
            script(_SAME_ID, _SAME_ID),
            start("w1"),
            save("w1", "r1"),
        ),
        retry=(start("e1"), save("e1", "r1"), save("e1", "r2"), time(PAST_LEASE_MS), work("e1"), save("e1", "r2")),
        seconds={"other": (start("w2"), save("w2", "r2"))},
        remote_faults=False,
    ),
    Scenario(
        "push/deferred",
        FAMILY,
        ASSOCIATION,
        (
            start("s1"),
            write("s1", "a1", source_object="Account"),
            write("s1", "r1", AccountId="a1"),
            save("s1", "r1"),
            save("s1", "a1", "Account"),
            start("w1"),
            work("w1", "narrow"),
        ),
        retry=_RETRY,
        seconds={"taken": (time(PAST_LEASE_MS), start("w2"), work("w2", "narrow")), "save": _SAVE},
    ),
    Scenario(
        "push/source-deleted",
        FAMILY,
        ASYNC,
        (start("s1"), write("s1", "r1"), save("s1", "r1"), delete("s1", "r1"), start("w1"), work("w1")),
        retry=_RETRY,
        remote_faults=False,
    ),
)
