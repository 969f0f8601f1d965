"""Known results up to the end of their retention (RET-012)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met
from conformance.checkers.mutation.facts import Command
from conformance.checkers.mutation.fingerprint import no_work
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.keys import NEARLY_MS, RETENTION_MS
from conformance.checkers.mutation.registry import CHECKERS
from conformance.checkers.mutation.settlement import trusted
from conformance.checkers.mutation.slots import Generation


@CHECKERS.checker("RET-012", "suite", "wire", "answer", "rows")
def a_known_result_is_kept_to_the_end(index: Index) -> Iterator[Finding]:
    """While the retention of a known result runs, no call under its key does anything anew, whoever retired it."""
    for command, place in index.slots.keyed():
        held = next((g for g in reversed(index.slots.of(place)) if g.born < command.seq), None)
        if held is None or held.settled is None or held.settled >= command.seq:
            continue
        if held.attempt_state(command.seq) not in (None, "Completed", "Failed"):
            continue
        # By rows a settlement without trusted time is RET-037; by the wire alone nobody knows when it was dated.
        if not index.slots.within_retention(held, command.until) or not trusted(index, -1, command.until):
            continue
        cell = _cell(index, held, command)
        if cell is not None:
            yield Met(cell if not place.differing(held.at) else f"{cell}-other")
        holder = f"the known result of request {held.owner.request_id}"
        yield from no_work(index, command, f"key {command.key} is held by {holder}, whose retention still runs")


def _cell(index: Index, held: Generation, command: Command) -> str | None:
    began, now = index.clock_at(held.settled or 0), index.clock_at(command.seq)
    if began is None or now is None or now.wall_ms - began.wall_ms < RETENTION_MS - NEARLY_MS:
        return None
    kept = any(c.cmd == "host.housekeep" and now.seq < c.seq < c.until < command.seq for c in index.commands)
    return "housekept" if kept else "nearly-over"
