"""Drivers of settle lanes that lie in rows and answers: an exit code, a sentence, and nothing of theirs is obeyed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Result

DRIVER = Path(__file__).parent / "drivers" / "lying_queue.py"
NARROW = ("--scenario", "lane/redelivered", "--scenario", "lane/burst", "--budget", "quick", "--jobs", "1")
#: the lie -> (exit code, words that are printed)
LIES = {
    "none": (4, "inconclusive"),
    "route": (1, "FAIL  SETTLE-005"),
    "source": (4, "never occurred"),
    "error": (4, "inconclusive"),
    "state": (1, "generations of the lane"),
    "token": (1, "FAIL  "),
    "negative": (1, "-1767225600.001 s"),
    "payload": (1, "generations of the lane"),
    "stranger": (4, "inconclusive"),
    "vanishing": (1, "FAIL  SETTLE-005"),
    "twice": (3, "has two rows with event 1"),
    "ordinal": (3, "is beyond 2^53"),
    "silent-claim": (3, "result lacks the member 'event'"),
}


def harmless(result: Result, folder: Path) -> str:
    """All that was printed; nothing in it, or in the reports, is markup of the driver or rules a terminal."""
    page = result.out + result.err
    texts = [page, *(p.read_text() for p in folder.iterdir() if p.suffix in (".html", ".md", ".xml"))]
    assert "Traceback" not in page
    assert "the suite" not in page.replace("the suite looks", "")
    for text in texts:
        assert not {c for c in text if (ord(c) < 32 and c not in "\n\t") or c in "\x7f\u202e\u2028"}
        assert "\nFAIL  forged" not in text
    assert "<script" not in (folder / "report.html").read_text()
    return page


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_judged_or_refused_and_never_obeyed(cli: Cli, tmp_path: Path, lie: str) -> None:
    code, words = LIES[lie]
    result = cli("run", "--driver", f"{sys.executable} {DRIVER} {lie}", *NARROW)
    page = harmless(result, tmp_path / "runs" / "latest")
    assert result.code == code, page
    assert words in page, page
