"""The pages say what the suite does: examples and tables are made again and compared with what is committed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from conformance.carriers.conversation import EVENTS, OUTCOMES
from conformance.cli.main import COMMANDS
from conformance.kit.engine import Engine
from conformance.kit.lines import MAX_INT, MAX_LINE
from conformance.remote.script import BEHAVIOURS
from conformance.verdict import STATUSES
from statemachines.spec import load

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "tools"))

from write_docs import SEEN, pages  # noqa: E402

PROTOCOL = (DOCS / "driver-protocol.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def made() -> dict[Path, str]:
    """Every page as it would be written now, its examples cut from a run of the reference in real processes."""
    return pages()


def test_every_committed_page_is_current(made: dict[Path, str]) -> None:
    stale = [page.name for page, text in made.items() if page.read_text(encoding="utf-8") != text]
    assert stale == [], "run python tools/write_docs.py"
    assert {f"commands-{family}.md" for family in load().commands} <= {page.name for page in made}


def test_no_example_is_empty(made: dict[Path, str]) -> None:
    blocks = re.findall(r"<!-- example: ([a-z-]+) -->\n```\n(.*?)\n```", made[DOCS / "driver-protocol.md"], re.DOTALL)
    assert len(blocks) >= 15
    assert [name for name, text in blocks if len(text) < 40] == []


def test_no_example_of_a_family_is_empty(made: dict[Path, str]) -> None:
    for family in load().commands:
        blocks = re.findall(r"^```\n(.*?)^```$", made[DOCS / f"commands-{family}.md"], re.DOTALL | re.MULTILINE)
        assert [text for text in blocks if len(text) < 40] == []


def test_the_page_of_a_family_names_every_live_requirement_every_check_and_every_reading_that_matters(
    made: dict[Path, str],
) -> None:
    spec = load()
    for family in spec.commands.values():
        page = made[DOCS / f"commands-{family.id}.md"]
        live = [r for r in spec.requirements.values() if r.status == "live" and r.source == family.source]
        assert live
        assert [r.id for r in live if f"\n| {r.id} | " not in page] == []
        if family.checks:
            order = [row.id for row in spec.tables[family.order_of_checks].rows]
            assert [row for row in order if f"`{row}`" not in page] == []
        declarable = [
            f"| `{entry.id}` | `{reading.id}` | {reading.status} |"
            for entry in spec.interpretations.values()
            for reading in entry.readings
            if entry.source == family.source and (reading.status == "declarable" or reading.unreachable)
        ]
        assert [row for row in declarable if row not in page] == []
        assert "| rejected |" not in page


def test_the_readme_knows_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"`onceproof {name} " not in readme] == []


def test_every_verb_has_a_heading_and_every_event_and_outcome_a_row() -> None:
    verbs = {name.removeprefix("_on_") for name in vars(Engine) if name.startswith("_on_")}
    assert {verb for verb in verbs if not re.search(rf"^### `{verb}`", PROTOCOL, re.MULTILINE)} == set()
    rows = set(re.findall(r"^\| `([a-z-]+)` \|", PROTOCOL, re.MULTILINE))
    assert {*EVENTS, *OUTCOMES} <= rows


def test_the_limits_are_those_of_the_code() -> None:
    assert f"{MAX_LINE:,} bytes" in PROTOCOL
    assert MAX_INT == 2**53
    assert "±2^53" in PROTOCOL


def test_every_behaviour_of_the_remote_is_explained() -> None:
    assert set(SEEN) == set(BEHAVIOURS)


def test_every_status_stands_in_the_page_of_exit_codes_in_order() -> None:
    text = (DOCS / "exit-codes.md").read_text(encoding="utf-8").partition("## Statuses")[2]
    rows = re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)
    assert tuple(row for row in rows if row in STATUSES) == STATUSES


def test_every_link_between_the_pages_leads_somewhere() -> None:
    for page in DOCS.glob("*.md"):
        targets = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
        assert [t for t in targets if not (page.parent / t).exists()] == []
