"""``report.html`` in a real browser: nothing complains, nothing overflows a phone, every anchor leads somewhere, and
what a driver calls itself is shown and never obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from conformance.report.html import as_html
from conformance.report.write import conclude
from tests.report.browser import Page, browser, installed
from tests.report.made import passing, records, write
from tests.report.test_renderings import HOSTILE, hostile

PAGES = {"failing": records(), "passing": passing(), "hostile": hostile()}

needs_browser = pytest.mark.needs_browser
#: How the hostile text looks to a reader: its control characters spelled out.
SHOWN = HOSTILE.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e").replace("\n", "\\n")


class Tags(HTMLParser):
    """Every tag of a page, and what was left open."""

    VOID = frozenset({"meta", "br", "rect", "circle", "path"})

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A rendered page."""
    file = tmp_path / "report.html"
    file.write_text(as_html(conclude(write(tmp_path, PAGES[request.param]))), encoding="utf-8")
    return file


def test_the_markup_is_balanced_and_ids_are_unique(page: Path) -> None:
    parser = Tags()
    parser.feed(page.read_text(encoding="utf-8"))
    assert parser.open == []
    ids = [attributes["id"] for _, attributes in parser.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {str(a["href"])[1:] for tag, a in parser.tags if tag == "a"}
    assert targets <= set(ids)


def test_nothing_runs_and_nothing_is_fetched(page: Path) -> None:
    parser = Tags()
    parser.feed(page.read_text(encoding="utf-8"))
    assert not {tag for tag, _ in parser.tags} & {"script", "link", "img", "iframe", "object", "form", "base"}
    for tag, attributes in parser.tags:
        assert not [name for name in attributes if name.startswith("on")], tag
        assert not str(attributes.get("href") or "#").startswith(("http", "javascript", "//")), attributes
    assert "url(" not in page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Page]:
    path = installed()
    if path is None:
        pytest.skip("no Chromium is installed (Debian's package chromium; or name one in CHROMIUM)")
    with browser(path) as tab:
        yield tab


@needs_browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_it_opens_without_complaint_and_without_sideways_scroll(
    chromium: Page, page: Path, width: int, dark: bool
) -> None:
    chromium.complaints.clear()
    chromium.size(width, 800)
    chromium.dark(dark)
    chromium.open(page.as_uri())
    assert chromium.complaints == []
    assert chromium.run("document.documentElement.scrollWidth") <= width
    chromium.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert chromium.run("document.documentElement.scrollWidth") <= width, "with all the evidence unfolded"
    shade = [int(part) for part in re.findall(r"\d+", chromium.run("getComputedStyle(document.body).backgroundColor"))]
    assert (max(shade) < 60) == dark


@needs_browser
def test_every_link_leads_to_something_that_can_be_seen(chromium: Page, page: Path) -> None:
    chromium.size(1280, 800)
    chromium.open(page.as_uri())
    links = chromium.run("[...new Set([...document.links].map(a => a.hash))]")
    assert links
    for link in links:
        chromium.open(f"{page.as_uri()}{link}")
        seen = chromium.run(f"document.getElementById({link[1:]!r}).getBoundingClientRect().height")
        assert seen > 0, f"{link} stays folded"


@needs_browser
def test_each_failure_is_reached_from_the_top_and_shows_its_step(chromium: Page, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(as_html(conclude(write(tmp_path, PAGES["failing"]))), encoding="utf-8")
    chromium.size(375, 800)
    chromium.dark(False)
    chromium.open(file.as_uri())
    assert chromium.run("document.querySelector('.card a[href=\"#failure-1\"]').textContent") == "AAA-002"
    chromium.open(f"{file.as_uri()}#failure-1-4")
    top = chromium.run("document.getElementById('failure-1-4').getBoundingClientRect().top")
    assert 0 <= top < 800
    assert "POST /effect/thing.write" in chromium.run("document.querySelector('#failure-1-4.here').innerText")


@needs_browser
def test_hostile_names_are_shown_as_they_are(chromium: Page, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(as_html(conclude(write(tmp_path, PAGES["hostile"]))), encoding="utf-8")
    chromium.complaints.clear()
    chromium.open(file.as_uri())
    assert chromium.complaints == []
    assert chromium.run("document.scripts.length") == 0
    for where in (".who", ".says", ".judged dd", ".lanes", ".evidence code"):
        assert SHOWN in chromium.run(f"document.querySelector({where!r}).textContent"), where
    assert SHOWN in chromium.run("document.title")


@needs_browser
def test_it_prints(chromium: Page, page: Path) -> None:
    chromium.open(page.as_uri())
    printed = chromium.ask("Page.printToPDF", printBackground=True)
    assert len(printed["data"]) > 10_000
