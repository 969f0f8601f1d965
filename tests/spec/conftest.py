"""A fixture that writes the tiny specification with small changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.spec.tiny import TINY

Change = tuple[str, str, str]
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write the tiny specification with changes (file, old text, new text); gives its root."""

    def writer(*changes: Change, extra: dict[str, str] | None = None) -> Path:
        files = dict(TINY)
        for file, old, new in changes:
            assert files[file].count(old) == 1, f"{old!r} stands {files[file].count(old)} times in {file}"
            files[file] = files[file].replace(old, new)
        root = tmp_path / "tiny"
        for file, text in (files | (extra or {})).items():
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text, encoding="utf-8")
        return root

    return writer
