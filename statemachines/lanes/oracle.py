"""The same answers straight from the definitions, over a graph with every edge; for small lanes.

Nothing here knows gaps, floors or any other shortcut: `networkx` finds the components and the order between
them. The tests hold the production functions against these, and so can anybody who doubts them. A lane of n
rows has n(n-1)/2 edges, so stay below a few hundred rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations, pairwise, permutations
from typing import TYPE_CHECKING

from statemachines.lanes.rows import Id, Row, ingress_key, precedes

if TYPE_CHECKING:
    from networkx import DiGraph


def graph(rows: Collection[Row]) -> DiGraph[Row]:
    """The relation as a graph: an edge from each row to each one that it precedes."""
    import networkx as nx  # noqa: PLC0415  heavy, and only wanted here

    relation: DiGraph[Row] = nx.DiGraph()
    relation.add_nodes_from(rows)
    relation.add_edges_from((a, b) if precedes(a, b) else (b, a) for a, b in combinations(rows, 2))
    return relation


def condensed(rows: Collection[Row]) -> list[set[Row]]:
    """The strongly connected components in topological order of the condensation."""
    import networkx as nx  # noqa: PLC0415

    chain = nx.condensation(graph(rows))
    return [set(chain.nodes[k]["members"]) for k in nx.topological_sort(chain)]


def components(rows: Collection[Row]) -> list[list[Id]]:
    """As `statemachines.lanes.components`."""
    return [sorted(row.id for row in component) for component in condensed(rows)]


def has_cycle(rows: Collection[Row]) -> bool:
    """Whether a topological sort of the relation is impossible."""
    import networkx as nx  # noqa: PLC0415

    return not nx.is_directed_acyclic_graph(graph(rows))


def reading_a(rows: Collection[Row]) -> list[Id]:
    """Each component as a whole by ingress key."""
    return [row.id for component in condensed(rows) for row in sorted(component, key=ingress_key)]


def reading_b(rows: Collection[Row]) -> list[Id]:
    """Release the smallest-ingress row of the first component, then look again at the rest."""
    left, sequence = set(rows), []
    while left:
        row = min(condensed(left)[0], key=ingress_key)
        left.remove(row)
        sequence.append(row.id)
    return sequence


def reading_c(rows: Collection[Row]) -> list[Id]:
    """Release the row that nothing left precedes, else the smallest-ingress row of all that are left."""
    relation, sequence = graph(rows), []
    while relation:
        unblocked = [row for row in relation if relation.in_degree(row) == 0]
        row = min(unblocked or relation, key=ingress_key)
        relation.remove_node(row)
        sequence.append(row.id)
    return sequence


def reading_d(rows: Collection[Row]) -> list[Id]:
    """Turn every edge that lies on a three-row cycle towards ingress, then sort topologically."""
    import networkx as nx  # noqa: PLC0415

    relation = graph(rows)
    turned = relation.copy()
    for a, b in relation.edges:
        on_three_cycle = any(relation.has_edge(c, a) for c in relation.successors(b))
        if on_three_cycle and ingress_key(b) < ingress_key(a):
            turned.remove_edge(a, b)
            turned.add_edge(b, a)
    return [row.id for row in nx.topological_sort(turned)]


def broken(rows: Collection[Row], sequence: Sequence[Id]) -> set[tuple[Id, Id]]:
    """The edges (a, b), a before b by the guard, that `sequence` reverses."""
    place = {id_: i for i, id_ in enumerate(sequence)}
    return {(a.id, b.id) for a, b in permutations(rows, 2) if precedes(a, b) and place[b.id] < place[a.id]}


def accepts(rows: Collection[Row], sequence: Sequence[Id]) -> bool:
    """Containment and unanimity, pair by pair, as `statemachines.lanes.verdict` words them."""
    if sorted(sequence) != sorted(row.id for row in rows):
        return False
    by_id = {row.id: row for row in rows}
    component = {row: k for k, members in enumerate(condensed(rows)) for row in members}
    return all(
        component[by_id[a]] == component[by_id[b]] and ingress_key(by_id[b]) < ingress_key(by_id[a])
        for a, b in broken(rows, sequence)
    )


def is_cycle(rows: Collection[Row], ids: Sequence[Id]) -> bool:
    """Whether each of `ids` precedes the next one, and the last the first."""
    by_id = {row.id: row for row in rows}
    return len(ids) > 2 and all(precedes(by_id[a], by_id[b]) for a, b in pairwise([*ids, ids[0]]))
