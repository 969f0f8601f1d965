"""Snapshots: text that a person has looked at once, kept as a file beside the test."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Snapshot = Callable[[str, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-snapshots", action="store_true", help="write the snapshots anew; then read the diff")


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Snapshot:
    """Compare a text with ``snapshots/<name>.txt`` beside the test file, or write it with ``--update-snapshots``."""

    def check(name: str, text: str) -> None:
        path = request.path.parent / "snapshots" / f"{name}.txt"
        if request.config.getoption("--update-snapshots"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{path} is missing: run pytest --update-snapshots and look at it"
        assert text == path.read_text(encoding="utf-8")

    return check
