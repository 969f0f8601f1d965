"""What random walks over the mutation host are made of."""

from __future__ import annotations

from typing import Final

from conformance.families.base import Walk, WalkCommand
from conformance.families.mutation_host.scenarios import (
    CONFIG,
    DEADLINE_MS,
    RETENTION_MS,
    cancel,
    housekeep,
    invoke,
)
from conformance.search.program import SETTLE, Op, recover, script, start, time

#: Few keys, so that walks meet themselves.
_KEYS: Final = (("m1", "k1"), ("m2", "k2"), None)


def _invoke(proc: str, which: int, serial: int) -> Op:
    keyed = _KEYS[which]
    return invoke(proc, f"q{serial}", *keyed) if keyed else invoke(proc, f"q{serial}", f"u{serial}")


WALK: Final = Walk(
    config=CONFIG,
    workers=("w1", "w2"),
    commands=(
        WalkCommand("invoke", ("w1", "w2"), _invoke),
        WalkCommand("invoke again", ("w2", "w1"), _invoke),
        WalkCommand("cancel", ("c1",), lambda proc, which, serial: cancel(proc, f"q{max(serial - 1 - which, 1)}")),
        WalkCommand("recover", ("r1",), lambda proc, *_: recover(proc)),
        WalkCommand("housekeep", ("g1",), lambda proc, *_: housekeep(proc)),
    ),
    times=(time(1_000), time(DEADLINE_MS + 1_000), time(RETENTION_MS + 60_000), time(1_000, trusted=False)),
    closing=(
        script(),
        start("e1"),
        recover("e1"),
        SETTLE,
        invoke("e1", "e-1", "m1", "k1"),
        time(RETENTION_MS + 60_000, trusted=True),
        recover("e1"),
        housekeep("e1"),
        invoke("e1", "e-2", "m1", "k1"),
    ),
)
