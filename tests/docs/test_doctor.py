"""The page about the doctor names every check with its rung, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from conformance.doctor.examine import CHECKS

ROOT = Path(__file__).resolve().parents[2]


def test_every_check_stands_on_the_page_with_its_rung() -> None:
    page = (ROOT / "docs" / "doctor.md").read_text(encoding="utf-8")
    listed = re.search(r"<!-- checks -->\n(.*?)<!-- /checks -->", page, re.DOTALL)
    assert listed is not None
    rows = re.findall(r"^\| `([a-z-]+)` \| (L0|L1|L2|L0, L1) \|", listed[1], re.MULTILINE)
    expected = [("hello", "L0"), *((c.id, "L0, L1" if c.timed else c.rung) for c in CHECKS)]
    assert rows == expected
