"""What a run record says of the specification: the right lifecycles and tables."""

from __future__ import annotations

import pytest

from conformance.excerpt import lifecycles, tables
from conformance.families import FAMILIES
from conformance.report.html.metro import layout
from conformance.report.views import lifecycle_views
from conformance.verdict import Tally
from statemachines.spec import load

SPEC = load()


def test_the_excerpt_has_the_lifecycles_of_the_rows_and_the_tables_of_the_document() -> None:
    named = {lc["id"] for lc in lifecycles(SPEC, ["mutation-host"])}
    assert {"mutation_attempt", "key_reservation"} <= named
    assert not named & {"create_attempt", "remote_link"}
    shown = {table["id"] for table in tables(SPEC, ["mutation-host"], ["mutation-profile"])}
    assert {"mutation_outcome", "replay_boundary", "precedence"} <= shown
    assert not shown & {"limits", "faults", "exercised", "codes"}


@pytest.mark.parametrize("name", list(SPEC.lifecycles))
def test_no_two_edges_of_a_drawing_lie_upon_each_other(name: str) -> None:
    family = next((f for f in FAMILIES if name in {lc["id"] for lc in lifecycles(SPEC, [f])}), None)
    if family is None:
        pytest.skip("no family has rows of this lifecycle")
    header = {"lifecycles": lifecycles(SPEC, [family]), "requirements": []}
    [lc] = [view for view in lifecycle_views(header, Tally()) if view.id == name]
    drawing = layout(lc)
    assert len(drawing.lines) == len(lc.edges)
    vertical = [
        (x1, *sorted((y1, y2)))
        for line in drawing.lines
        for (x1, y1), (x2, y2) in zip(line.points, line.points[1:], strict=False)
        if x1 == x2
    ]
    for number, (x, top, bottom) in enumerate(vertical):
        for other, top2, bottom2 in vertical[number + 1 :]:
            assert x != other or bottom <= top2 or bottom2 <= top, (name, x)
    ends = [point for line in drawing.lines for point in (line.points[0], line.points[-1])]
    assert len(ends) == len(set(ends)), "two edges meet a state in one point"
    assert all(0 <= x <= drawing.width and 0 <= y <= drawing.height for line in drawing.lines for x, y in line.points)
