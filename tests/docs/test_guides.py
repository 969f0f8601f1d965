"""Pages that are written by hand name commands, options, files and links that exist."""

from __future__ import annotations

import argparse
import importlib
import re
import shlex
from pathlib import Path

import pytest

from conformance.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(
        ROOT / name
        for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "spec/README.md", "reports/README.md")
    ),
    *sorted((ROOT / "examples").glob("*/README.md")),
    *sorted(page for page in DOCS.glob("*.md") if not page.name.startswith("commands-")),
]
#: A command at the beginning of a line of a block; a backslash continues it.
LINE = re.compile(r"^ *(?:\.venv/bin/)?onceproof ((?:[^\n\\]|\\\n)+)", re.MULTILINE)
#: Blocks: between fences, or indented by four.
BLOCKS = re.compile(r"^```\w*\n(.*?)^```|((?:^ {4}.*\n)+)", re.DOTALL | re.MULTILINE)
NAMED_FILE = re.compile(
    r"`((?:docs|spec|tests|tools|conformance|reference_impl|examples|statemachines|benchmarks)/[\w./-]+)`"
)


def written(page: Path) -> list[list[str]]:
    """The commands in the blocks of a page, as words, without what is explained behind them."""
    blocks = "\n".join("".join(found) for found in BLOCKS.findall(page.read_text(encoding="utf-8")))
    lines = (
        re.split(r" {2,}", line.replace("\\\n", " "))[0] for line in LINE.findall(re.sub(r" *\\\n *", " ", blocks))
    )
    return [words for words in map(shlex.split, lines) if words and words[0] in COMMANDS]


def parser_of(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(exit_on_error=False)
    importlib.import_module(COMMANDS[name][0]).add_parser(parser.add_subparsers())
    return parser


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_in_a_block_can_be_parsed(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in written(page):
        try:
            parser_of(words[0]).parse_args(words)
        except (SystemExit, argparse.ArgumentError) as problem:
            pytest.fail(f"{page.name}: onceproof {shlex.join(words)}: {problem} {capsys.readouterr().err}")


def test_the_guides_hold_commands() -> None:
    assert len(written(DOCS / "implementers-guide.md")) >= 12
    assert len(written(DOCS / "ci.md")) >= 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_and_every_file_that_is_named_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [page.parent / target for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)]
    files = [ROOT / name for name in NAMED_FILE.findall(text)]
    assert [str(path) for path in (*links, *files) if not path.exists()] == []


def test_the_index_names_every_page() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    assert [p.name for p in DOCS.glob("*.md") if p.name != "README.md" and f"({p.name})" not in index] == []
