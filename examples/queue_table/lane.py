"""The rows of one lane: which comes first, which end a generation, which one is to be executed next.

Pure functions. "Comes first" is no total order where rows with and without an ordinal mix, so nothing is sorted by it.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """What the order and the membership of a row depend on."""

    id: int
    route: str
    source: str
    ordinal: int
    created_at: int
    sequence: int
    state: str
    not_before: int | None
    token: str | None
    error: str | None
    served: int | None


def ingress(row: Row) -> tuple[int, int, int]:
    """When the row came in."""
    return row.created_at, row.sequence, row.id


def precedes(a: Row, b: Row) -> bool:
    """Whether a comes first: by ordinal where both have one, else by arrival."""
    if a.ordinal and b.ordinal:
        return (a.ordinal, a.id) < (b.ordinal, b.id)
    return ingress(a) < ingress(b)


def replay_order(rows: list[Row]) -> list[Row]:
    """The rows in lane order: next is what nothing left precedes, and on a cycle what came in first."""
    left, order = list(rows), []
    while left:
        free = [row for row in left if not any(precedes(other, row) for other in left if other is not row)]
        row = free[0] if free else min(left, key=ingress)
        left.remove(row)
        order.append(row)
    return order


def ended(row: Row) -> bool:
    """Whether the row was executed to its end; of the skipped ones, those that kept their token and no error."""
    executed_skip = row.state == "skipped" and bool(row.token) and not row.error
    return row.state in ("processed", "dead") or executed_skip


def boundary(rows: list[Row], head: Row) -> Row | None:
    """The previous executed row, as seen from this head."""
    before = [row for row in rows if row is not head and ended(row) and precedes(row, head)]
    return replay_order(before)[-1] if before else None


def between(rows: list[Row], head: Row) -> list[Row]:
    """Rows that lie between the previous executed one and the head, by two comparisons."""
    low = boundary(rows, head)
    return [
        row
        for row in rows
        if row is not head and not ended(row) and precedes(row, head) and (low is None or precedes(low, row))
    ]


def consumed(rows: list[Row], row: Row) -> bool:
    """Whether an ended generation has taken this row in. Rows of an older version do not say by which head."""
    if row.state != "skipped":
        return False
    ends = [other for other in rows if ended(other)]
    if row.served is not None:
        return any(end.id == row.served for end in ends)
    return any(row in between(rows, end) for end in ends)


def generation(rows: list[Row], head: Row) -> list[Row]:
    """The head and all that goes with it, what it has already taken in included."""
    members = [row for row in between(rows, head) if not consumed(rows, row)]
    kept = [row for row in rows if row.served == head.id and row.state == "skipped" and row not in members]
    return [*members, *kept, head]


def head_of(rows: list[Row], now: int, *, coalesces: bool, wanted: int | None) -> Row | None:
    """The row of this lane to be executed next, or None; with `wanted` that one or none."""
    if any(row.state == "processing" for row in rows):
        return None
    due = [row for row in rows if row.state == "pending" and (row.not_before is None or row.not_before <= now)]
    order = replay_order(due)
    if coalesces:
        order = [row for row in reversed(order) if _loses_nothing(rows, row)]
    if wanted is not None:
        order = [row for row in order if row.id == wanted]
    return order[0] if order else None


def _loses_nothing(rows: list[Row], head: Row) -> bool:
    """Whether whatever was collapsed into a member is a member too: a failed head brings its own rows along."""
    members = {row.id for row in generation(rows, head)}
    return all(row.id in members for row in rows if row.state == "skipped" and row.served in members)
