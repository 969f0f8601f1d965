"""Which rows belong to one generation.

Source: source-settle, Scope Guard, sentences 3 and 4 (GEN-001 to GEN-005).
"""

from __future__ import annotations

from collections.abc import Iterable

from statemachines.lanes.rows import Id, LaneError, Row, in_ingress_order, precedes


def members(rows: Iterable[Row], boundary: Id | None, head: Id) -> list[Id]:
    """The ids of the generation that starts after `boundary` and ends at `head`, ascending.

    `boundary` is the previous executed row, itself left out, or None where nothing was executed before;
    `head` is the selected row, always a member. Two comparisons decide, each choosing its own key
    (GEN-005): x precedes the head, and the boundary precedes x. Neither reachability nor a stretch of the
    replay gives the same set.

    A row that an ended generation consumed must not come back (GEN-044): leave it out of `rows`. The lane
    order cannot know it. Replay the members alone: rows outside them make and break no cycle (ORDER-023).

    Raises `LaneError` where `boundary` or `head` is not in the lane, or where both are the same row.
    """
    lane = in_ingress_order(rows)
    last = _find(lane, head, "head")
    if boundary is None:
        return sorted(x.id for x in lane if x is last or precedes(x, last))
    first = _find(lane, boundary, "boundary")
    if first is last:
        raise LaneError(f"row {head!r} is boundary and head at once; a generation ends at a row that has not run yet")
    return sorted(x.id for x in lane if x is last or (precedes(first, x) and precedes(x, last)))


def _find(lane: list[Row], wanted: Id, role: str) -> Row:
    for row in lane:
        if row.id == wanted:
            return row
    raise LaneError(f"the {role} {wanted!r} is not in the lane; it holds {_some_ids(lane)}")


def _some_ids(lane: list[Row], most: int = 8) -> str:
    if not lane:
        return "no rows"
    ids = sorted(row.id for row in lane)
    shown = ", ".join(repr(i) for i in ids[:most])
    return f"rows {shown}" + (f" and {len(ids) - most} more" if len(ids) > most else "")
