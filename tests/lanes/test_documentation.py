"""The page about the lane order shows what the code really does."""

from pathlib import Path

from statemachines.lanes import components, has_cycle, members, precedes, replay, verdict
from statemachines.lanes.picture import picture
from statemachines.lanes.svg import draw_svg
from statemachines.lanes.text import draw_text
from tests.lanes.golden import LANES, lane

DOCS = Path(__file__).parents[2] / "docs"
(SHOWN,) = (golden for golden in LANES if golden.name == "cycle-with-neighbours")


def test_the_drawings_of_the_page_are_those_of_the_tool() -> None:
    drawn = picture(SHOWN.name, SHOWN.rows)
    assert draw_text(drawn) in (DOCS / "lane-order.md").read_text(encoding="utf-8")
    assert draw_svg(drawn) == (DOCS / "lane-order.svg").read_text(encoding="utf-8")


def test_the_example_of_the_page_is_true() -> None:
    rows = lane("1:o3 2:z 3:o2 4:o1")
    assert precedes(rows[3], rows[0])
    assert has_cycle(rows)
    assert components(rows) == [[1, 2, 3, 4]]
    assert replay(rows) == [1, 2, 4, 3]
    assert members(rows, 2, 4) == [4]
    reason = verdict(rows, [2, 1, 4, 3]).reason
    page = (DOCS / "lane-order.md").read_text(encoding="utf-8").replace("\n#  ", " ")
    assert f"# '{reason}'" in page
