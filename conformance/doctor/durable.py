"""What rung L1 adds: rows that are read from the store, and time that the suite gives."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from conformance.doctor.basics import Notes, look, whole
from conformance.doctor.bench import Bench, Watch, as_text
from conformance.search.process import EPOCH_MS
from conformance.search.program import FREE, RESTART, SETTLE, SNAPSHOT, Op, release, script, time
from statemachines.spec import load

_YEAR_MS: Final = 365 * 86_400_000
#: The run of the clock check begins here and then jumps, each far from the other and from the machine's own time.
BEGIN_MS: Final = EPOCH_MS + 7 * _YEAR_MS
JUMP_MS: Final = 14 * _YEAR_MS


def snapshot(bench: Bench) -> Notes:
    """Rows are there, come from the store, and are the same as long as nothing happens."""
    notes = Notes()
    seen = bench.play((*whole(bench), SNAPSHOT, SNAPSHOT))
    look(seen, notes)
    if seen.of("lacking"):
        notes.bad("snapshot gives no rows that count: read them from the durable store, and say source `store`")
        return notes
    if not any(seen.rows or ()) or not any((seen.rows or {}).values()):
        notes.bad("snapshot shows no row at all although an effect happened")
    asked = [e for e in seen.of("rows") if e.data["why"] == "asked"]
    for one, two in pairwise(asked):
        if as_text(one.data["kinds"]) != as_text(two.data["kinds"]):
            kind = _differing(one.data["kinds"], two.data["kinds"])
            notes.bad(
                f"two snapshots in a row differ in {kind!r}, though nothing happened: read in a fixed order, and only"
                " read"
            )
        if any(e.cls == "wire" for e in seen.history.events[one.seq : two.seq]):
            notes.bad("a snapshot sent something to the remote: it only reads")
    return notes


def _differing(one: Mapping[str, Any], two: Mapping[str, Any]) -> str:
    return next((kind for kind in sorted({*one, *two}) if one.get(kind) != two.get(kind)), "")


def rows_survive(bench: Bench) -> Notes:
    """After a kill of every process, a new one reads the very same rows."""
    notes = Notes()
    seen = bench.play((*whole(bench), SNAPSHOT, RESTART, Watch.fresh_observer, SNAPSHOT))
    asked = [e.data["kinds"] for e in seen.of("rows") if e.data["why"] == "asked"]
    if len(asked) == 2 and as_text(asked[0]) != as_text(asked[1]):
        notes.bad(
            f"after a kill of all processes the rows of {_differing(*asked)!r} are not what they were: what snapshot"
            " shows has to be in the store"
        )
    return notes


def time_is_obeyed(bench: Bench) -> Notes:
    """Times in rows come from `set_time`, and from nowhere else."""
    notes = Notes()
    if bench.identity.clock != "virtual":
        notes.bad(
            "hello says clock `real`, but L1 includes set_time: take the time from it and say `virtual`, or say L0"
        )
        return notes
    ops = list(whole(bench))
    last = max(i for i, op in enumerate(bench.scenario.ops) if op.op == "start")
    ops.insert(last + 1, time(0, wall_jump_ms=JUMP_MS))
    seen = bench.play(ops, wall_ms=BEGIN_MS)
    look(seen, notes)
    stamps = list(_times(bench.family.id, seen.rows or {}))
    if not stamps:
        notes.remark("no row of this script holds a time, so that obedience to set_time could not be seen")
    for where, stamp in stamps:
        given = {"set_time": BEGIN_MS + JUMP_MS, "reset": BEGIN_MS, "machine": int(clock.time() * 1000)}
        nearest = min(given, key=lambda name: abs(given[name] - stamp))
        if nearest == "machine":
            notes.bad(
                f"{where} holds {stamp}, the time of the machine: the only clock is the one of reset and set_time"
            )
        elif nearest == "reset":
            notes.bad(f"{where} holds {stamp}, a time from before set_time: it has to be obeyed at once")
    return notes


def _times(family: str, rows: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """(column, value) of every stored time."""
    known = load().commands.get(family)
    for kind in known.rows.values() if known else ():
        for column in kind.columns:
            if column.type == "time":
                for row in rows.get(kind.kind, ()):
                    if row.get(column.name) is not None:
                        yield f"{kind.kind}.{column.name}", row[column.name]


def listens(bench: Bench) -> Notes:
    """Stdin is read while a command is under way, and `set_time` answered."""
    notes = Notes()
    victim = bench.scenario.victim
    ops: tuple[Op, ...] = (script("hold"), *bench.scenario.ops, time(10), SETTLE, release(victim), SETTLE, FREE)
    seen = bench.play(ops)
    look(seen, notes)
    return notes
