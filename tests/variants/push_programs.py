"""For each legal variant of the connector runtime one program in which it behaves otherwise than the reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.families.connector_push.commands import operate, save, work, write
from conformance.families.connector_push.config import ASSOCIATION, CONFIG, FAMILY, PAST_LEASE_MS, REPLAY
from conformance.families.connector_push.scenarios import TAIL
from conformance.search.program import FREE, SETTLE, Op, Program, kill, recover, script, start, time

START = (start("w1"), write("w1", "r1"))
SAVE = (*START, save("w1", "r1"))
SAME = {"kind": "success", "identity": "x9"}
EPILOGUE = (FREE, start("e1"), time(PAST_LEASE_MS), recover("e1"), work("e1"), SETTLE, save("e1", "r1"), *TAIL)


def crash(point: str) -> Op:
    return Op("arm", {"proc": "w1", "point": point, "nth": 1, "action": "crash"})


def pause(point: str) -> Op:
    return Op("arm", {"proc": "w1", "point": point, "nth": 1, "action": "pause"})


def unready(*kinds: str) -> tuple[Op, ...]:
    """A contact whose account is not linked when a worker comes."""
    first = (start("w1"), write("w1", "a1", source_object="Account"), write("w1", "r1", AccountId="a1"))
    return (*first, save("w1", "r1"), *(work("w1", kind) for kind in kinds), save("w1", "a1", "Account"))


#: variant -> configuration and ops, before the epilogue that all share.
SHOWS: Mapping[str, tuple[Mapping[str, Any], tuple[Op, ...]]] = {
    "captures-in-one-commit": (CONFIG, SAVE),
    "straight-to-finalized": (CONFIG, SAVE),
    "skips-post-sent": (CONFIG, SAVE),
    "links-later": (
        CONFIG,
        (script("apply-then-drop"), *SAVE, operate("w1", "reconcile", "r1", remote_id="x7"), work("w1")),
    ),
    "overwrites-mirror": (CONFIG, (start("w1"), write("w1", "r1", RemoteId="old", locked=True), save("w1", "r1"),
                                   write("w1", "r1", RemoteId="new"), work("w1"))),
    "parks-conflicts": (
        CONFIG,
        (script(SAME, SAME), *SAVE, write("w1", "r2"), save("w1", "r2")),
    ),
    "leaves-staged": (CONFIG, (*START, crash("dispatch.capture:committed"), save("w1", "r1"))),
    "saves-resume": (CONFIG, (*START, crash("save.reserve:committed"), save("w1", "r1"), start("w2"),
                              save("w2", "r1"))),
    "workers-recover-alone": (
        CONFIG,
        (script("hold"), *SAVE, kill("w1"), start("w2"), time(PAST_LEASE_MS), recover("w2")),
    ),
    "replays-through-pending": (
        REPLAY,
        (script("apply-then-drop"), *SAVE, work("w1"), work("w1"), work("w1")),
    ),
    "waits-out-lease": (ASSOCIATION, unready("narrow")),
    "gives-back": (ASSOCIATION, unready("narrow")),
    "lease-over-costs-nothing": (
        CONFIG,
        (*START, pause("dispatch.claim:committed"), save("w1", "r1"), time(PAST_LEASE_MS), FREE),
    ),
    "exclusive-workers": (ASSOCIATION, (*unready(), work("w1", "narrow"))),
    "supersedes-and-reserves": (
        CONFIG,
        (script("definite-refusal"), *SAVE, operate("w1", "supersede", "r1"), work("w1")),
    ),
}  # fmt: skip


def showing(variant: str) -> Program:
    """The program of a variant, with the epilogue."""
    config, ops = SHOWS[variant]
    return Program(f"variants/{variant}", FAMILY, config, (*ops, *EPILOGUE), {})
