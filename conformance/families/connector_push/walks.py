"""What random walks over connector push are made of."""

from __future__ import annotations

from typing import Final

from conformance.families.base import Walk, WalkCommand
from conformance.families.connector_push.commands import delete, operate, save, work, write
from conformance.families.connector_push.config import ASYNC, PAST_LEASE_MS
from conformance.families.connector_push.edits import FROZEN, edited
from conformance.search.program import SETTLE, Op, recover, script, start, time

#: Few records, so that walks meet themselves.
_RECORDS: Final = ("r1", "r2", "r1")
_ACTS: Final = ("supersede", "give_up", "retire")


def _write(proc: str, which: int, serial: int) -> Op:
    return write(proc, _RECORDS[which], Name=f"name {serial}", locked=serial % 4 == 0)


WALK: Final = Walk(
    config=ASYNC,
    workers=("w1", "w2"),
    commands=(
        WalkCommand("write", ("s1", "s2"), _write),
        WalkCommand("save", ("s1", "s2"), lambda proc, which, _: save(proc, _RECORDS[which])),
        WalkCommand("work", ("w1", "w2"), lambda proc, _which, _serial: work(proc)),
        WalkCommand("work again", ("w2", "w1"), lambda proc, _which, _serial: work(proc)),
        WalkCommand("recover", ("r2",), lambda proc, _which, _serial: recover(proc)),
        WalkCommand("operate", ("o1",), lambda proc, which, _: operate(proc, _ACTS[which], "r1")),
        WalkCommand("delete", ("s2",), lambda proc, which, _: delete(proc, _RECORDS[which])),
    ),
    times=(time(1_000), time(PAST_LEASE_MS), time(10 * PAST_LEASE_MS), time(1_000, trusted=False)),
    opening=(start("s1"), _write("s1", 0, 1), save("s1", "r1")),
    configs={"as before": ASYNC, **{name: edited(ASYNC, edit) for name, edit in FROZEN.items()}},
    closing=(
        script(),
        start("e1"),
        save("e1", "r1"),
        recover("e1"),
        time(PAST_LEASE_MS, trusted=True),
        work("e1"),
        SETTLE,
        save("e1", "r1"),
        save("e1", "r2"),
        work("e1"),
    ),
)
