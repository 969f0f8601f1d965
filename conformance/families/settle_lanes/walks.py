"""What random walks over settle lanes are made of: deliveries, older rows, claims, outcomes, replays, time."""

from __future__ import annotations

from typing import Any, Final

from conformance.families.base import Walk, WalkCommand
from conformance.families.settle_lanes.commands import claim, deliver, event, execute, finish, load, read, replay, row
from conformance.families.settle_lanes.config import CONFIG, PAST_BACKOFF_MS, PAST_LEASE_MS, PAST_WINDOW_MS
from conformance.search.program import Op, recover, start, time

_PATHS: Final = ("bulk", "fallback", "bulk")
#: What an outcome is drawn from: a failure as often as a success, so that rows meet their retries.
_OUTCOMES: Final = ("success", "retryable", "skip")
#: Ids of loaded rows leave room for those that deliveries get.
_STEP: Final = 1_000


def _deliver(proc: str, which: int, serial: int) -> Op:
    return deliver(proc, f"d{serial}", event(f"p{serial}"), event(f"q{serial}"), path=_PATHS[which])


def _load(proc: str, which: int, serial: int) -> Op:
    """A row of an older node, without an ordinal, or a stamped one that was committed late."""
    return load(proc, _row(which, serial))


def _row(which: int, serial: int) -> dict[str, Any]:
    # Dates go back and forth by the serial, so that walks meet late rows and cycles.
    return row(_STEP * serial + 500, 0 if which else serial, (serial * 7) % 11, payload=f"old{serial}")


WALK: Final = Walk(
    config=CONFIG,
    workers=("w1", "w2"),
    commands=(
        WalkCommand("deliver", ("s1", "s2"), _deliver),
        WalkCommand("older rows", ("s1",), _load),
        WalkCommand("claim", ("w1", "w2"), lambda proc, _which, _serial: claim(proc)),
        WalkCommand("claim again", ("w1", "w2"), lambda proc, _which, _serial: claim(proc)),
        WalkCommand("read", ("w1", "w2"), lambda proc, _which, _serial: read(proc)),
        WalkCommand("finish", ("w1", "w2"), lambda proc, which, _: finish(proc, _OUTCOMES[which])),
        WalkCommand("recover", ("r1",), lambda proc, _which, _serial: recover(proc)),
        WalkCommand("replay", ("o1",), lambda proc, which, _: replay(proc, which + 1)),
    ),
    times=(time(1_000), time(PAST_WINDOW_MS), time(PAST_LEASE_MS), time(PAST_BACKOFF_MS)),
    closing=(
        start("e1"),
        time(PAST_LEASE_MS),
        recover("e1"),
        *(op for _ in range(4) for op in (time(PAST_BACKOFF_MS), *execute("e1"))),
    ),
    remote=False,
)
