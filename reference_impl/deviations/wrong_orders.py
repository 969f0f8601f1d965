"""Wrong implementations that people really write, one small function each.

`SEQUENCES` maps a name of `golden_lanes.json` to a function from rows (in the order in which they were read)
to ids; `MEMBERSHIPS` to one from rows, boundary and head to a set of ids. They share nothing with the
production code but the two keys and, where a deviation is right up to one step, the right other steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from graphlib import TopologicalSorter
from itertools import pairwise, permutations
from typing import Any

from statemachines.lanes import Row, ingress_key, members, oracle, ordinal_key, precedes, replay

Guard = Callable[[Row, Row], bool]
Key = Callable[[Row], Any]


# -------------------- topological replay with a spanner in the works


def released(rows: Sequence[Row], *, guard: Guard = precedes, stuck: Callable[[list[Row]], list[Row]]) -> list[Any]:
    """Release what nothing left precedes; where there is none, whatever `stuck` says of the rows left."""
    left, sequence = list(rows), []
    while left:
        free = [row for row in left if not any(guard(other, row) for other in left if other is not row)]
        batch = free[:1] or stuck(left)
        if not batch:
            break
        for row in batch:
            left.remove(row)
            sequence.append(row.id)
    return sequence


def smallest(key: Key) -> Callable[[list[Row]], list[Row]]:
    """When stuck, release the row with the smallest key; the first one read among equals."""
    return lambda left: [min(left, key=key)]


def by_keys(rows: Sequence[Row], stamped: Key, other: Key) -> list[Any]:
    """Reading B with other keys than the right ones; rows of equal keys keep the order of reading."""

    def guard(a: Row, b: Row) -> bool:
        key = stamped if a.ordinal and b.ordinal else other
        return bool(key(a) < key(b))

    return released(rows, guard=guard, stuck=smallest(other))


def ids(rows: Iterable[Row]) -> list[Any]:
    return [row.id for row in rows]


# -------------------- wrong sequences


def ordinal_sort(rows: list[Row]) -> list[Any]:
    return ids(sorted(rows, key=ordinal_key))


def zero_rows_first(rows: list[Row]) -> list[Any]:
    return ids(sorted(rows, key=lambda r: (1, *ordinal_key(r)) if r.ordinal else (0, *ingress_key(r))))


def zero_rows_last(rows: list[Row]) -> list[Any]:
    return ids(sorted(rows, key=lambda r: (0, *ordinal_key(r)) if r.ordinal else (1, *ingress_key(r))))


def ingress_sort(rows: list[Row]) -> list[Any]:
    return ids(sorted(rows, key=ingress_key))


def lane_switch(rows: list[Row]) -> list[Any]:
    return ids(sorted(rows, key=ordinal_key if all(r.ordinal for r in rows) else ingress_key))


def zero_zero_by_id(rows: list[Row]) -> list[Any]:
    def guard(a: Row, b: Row) -> bool:
        return bool(a.id < b.id) if a.ordinal == b.ordinal else precedes(a, b)

    return released(rows, guard=guard, stuck=smallest(ingress_key))


def created_then_id(rows: list[Row]) -> list[Any]:
    return by_keys(rows, ordinal_key, lambda r: (r.created, r.id))


def created_only(rows: list[Row]) -> list[Any]:
    return by_keys(rows, ordinal_key, lambda r: r.created)


def sequence_first(rows: list[Row]) -> list[Any]:
    return by_keys(rows, ordinal_key, lambda r: (r.sequence, r.created, r.id))


def no_ingress_id(rows: list[Row]) -> list[Any]:
    return by_keys(rows, ordinal_key, lambda r: (r.created, r.sequence))


def no_ordinal_tie(rows: list[Row]) -> list[Any]:
    return by_keys(rows, lambda r: r.ordinal, ingress_key)


def ordinal_tie_by_ingress(rows: list[Row]) -> list[Any]:
    return by_keys(rows, lambda r: (r.ordinal, *ingress_key(r)), ingress_key)


def text_compare(rows: list[Row]) -> list[Any]:
    return by_keys(rows, lambda r: (str(r.ordinal), str(r.id)), lambda r: (r.created, r.sequence, str(r.id)))


def comparator_sort(rows: list[Row]) -> list[Any]:
    def compare(a: Row, b: Row) -> int:
        return -1 if precedes(a, b) else 1

    return ids(sorted(rows, key=cmp_to_key(compare)))


def insertion(rows: list[Row]) -> list[Any]:
    out: list[Row] = []
    for row in rows:
        out.insert(next((i for i, other in enumerate(out) if precedes(row, other)), len(out)), row)
    return ids(out)


def raise_on_cycle(rows: list[Row]) -> list[Any]:
    relation = TopologicalSorter({row: {other for other in rows if precedes(other, row)} for row in rows})
    return ids(relation.static_order())


def drop_cycle(rows: list[Row]) -> list[Any]:
    return released(rows, stuck=lambda _: [])


def whole_lane_fallback(rows: list[Row]) -> list[Any]:
    return ingress_sort(rows) if oracle.has_cycle(rows) else replay(rows)


def dump_rest(rows: list[Row]) -> list[Any]:
    return released(rows, stuck=lambda left: sorted(left, key=ingress_key))


def dump_rest_ordinal(rows: list[Row]) -> list[Any]:
    return released(rows, stuck=lambda left: sorted(left, key=ordinal_key))


def break_by_ordinal(rows: list[Row]) -> list[Any]:
    return released(rows, stuck=smallest(ordinal_key))


def break_by_stamped_ordinal(rows: list[Row]) -> list[Any]:
    return released(rows, stuck=lambda left: [min((r for r in left if r.ordinal), key=ordinal_key)])


def break_by_id(rows: list[Row]) -> list[Any]:
    return released(rows, stuck=smallest(lambda r: r.id))


def break_at_last(rows: list[Row]) -> list[Any]:
    return released(rows, stuck=lambda left: [max(left, key=ingress_key)])


def break_by_input(rows: list[Row]) -> list[Any]:
    return released(rows, stuck=lambda left: left[:1])


def break_by_created(rows: list[Row]) -> list[Any]:
    return released(rows, stuck=smallest(lambda r: r.created))


def components_by_ingress(rows: list[Row]) -> list[Any]:
    arranged = sorted(oracle.condensed(rows), key=lambda component: min(map(ingress_key, component)))
    return [row.id for component in arranged for row in sorted(component, key=ingress_key)]


def two_chains(rows: list[Row]) -> list[Any]:
    neighbours = {(a, b) for a, b in pairwise(sorted(rows, key=ingress_key)) if a.ordinal and b.ordinal}
    return released(rows, guard=lambda a, b: precedes(a, b) or (a, b) in neighbours, stuck=smallest(ingress_key))


SEQUENCES: dict[str, Callable[[list[Row]], list[Any]]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        ordinal_sort,
        zero_rows_first,
        zero_rows_last,
        ingress_sort,
        lane_switch,
        zero_zero_by_id,
        created_then_id,
        created_only,
        sequence_first,
        no_ingress_id,
        no_ordinal_tie,
        ordinal_tie_by_ingress,
        text_compare,
        comparator_sort,
        insertion,
        raise_on_cycle,
        drop_cycle,
        whole_lane_fallback,
        dump_rest,
        dump_rest_ordinal,
        break_by_ordinal,
        break_by_stamped_ordinal,
        break_by_id,
        break_at_last,
        break_by_input,
        break_by_created,
        components_by_ingress,
        two_chains,
    )
}


# -------------------- wrong memberships


def between(rows: list[Row], b: Any, h: Any, after: Guard, upto: Guard) -> set[Any]:
    """The head, and what follows the boundary by `after` and precedes the head by `upto`."""
    by_id = {row.id: row for row in rows}
    head, boundary = by_id[h], by_id.get(b)
    return {h} | {
        x.id for x in rows if upto(x, head) and (boundary is None or after(boundary, x)) and x is not boundary
    }


def less(key: Key) -> Guard:
    return lambda a, b: bool(key(a) < key(b))


def closure(rows: list[Row], b: Any, h: Any) -> set[Any]:
    reach = {(x, y) for x, y in permutations(rows, 2) if precedes(x, y)}
    for via in rows:
        reach |= {(x, y) for x, z in reach if z is via for w, y in reach if w is via and x is not y}
    return between(rows, b, h, lambda x, y: (x, y) in reach, lambda x, y: (x, y) in reach)


def replay_slice(rows: list[Row], b: Any, h: Any) -> set[Any]:
    sequence = replay(rows)
    first = 0 if b is None else sequence.index(b) + 1
    return {h, *sequence[first : sequence.index(h)]}


def ordinal_range(rows: list[Row], b: Any, h: Any) -> set[Any]:
    return between(rows, b, h, less(ordinal_key), less(ordinal_key))


def ingress_range(rows: list[Row], b: Any, h: Any) -> set[Any]:
    return between(rows, b, h, less(ingress_key), less(ingress_key))


def lane_switch_members(rows: list[Row], b: Any, h: Any) -> set[Any]:
    guard = less(ordinal_key if all(r.ordinal for r in rows) else ingress_key)
    return between(rows, b, h, guard, guard)


def head_decides_key(rows: list[Row], b: Any, h: Any) -> set[Any]:
    head = next(row for row in rows if row.id == h)
    guard = less(ordinal_key if head.ordinal else ingress_key)
    return between(rows, b, h, guard, guard)


def no_upper_bound(rows: list[Row], b: Any, h: Any) -> set[Any]:
    return between(rows, b, h, precedes, lambda _x, _head: True)


def head_left_out(rows: list[Row], b: Any, h: Any) -> set[Any]:
    return set(members(rows, b, h)) - {h}


def boundary_taken_in(rows: list[Row], b: Any, h: Any) -> set[Any]:
    return set(members(rows, b, h)) | ({b} if b is not None else set())


def zero_always_in(rows: list[Row], b: Any, h: Any) -> set[Any]:
    return between(rows, b, h, precedes, lambda x, head: not x.ordinal or precedes(x, head))


def positive_before_zero_head(rows: list[Row], b: Any, h: Any) -> set[Any]:
    return between(rows, b, h, precedes, lambda x, head: precedes(x, head) or bool(x.ordinal and not head.ordinal))


def replay_lane_then_filter(rows: list[Row], b: Any, h: Any) -> list[Any]:
    """Members right, their order wrong: cut out of the replay of the whole lane."""
    chosen = set(members(rows, b, h))
    return [id_ for id_ in replay(rows) if id_ in chosen]


MEMBERSHIPS: dict[str, Callable[[list[Row], Any, Any], set[Any]]] = {
    "closure": closure,
    "replay-slice": replay_slice,
    "ordinal-range": ordinal_range,
    "ingress-range": ingress_range,
    "lane-switch": lane_switch_members,
    "head-decides-key": head_decides_key,
    "no-upper-bound": no_upper_bound,
    "head-left-out": head_left_out,
    "boundary-taken-in": boundary_taken_in,
    "zero-always-in": zero_always_in,
    "positive-before-zero-head": positive_before_zero_head,
}
