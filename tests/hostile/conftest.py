"""The command line in the test's own process, and nothing that outlives it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import cli

__all__ = ["cli"]

MARK = "ONCEPROOF_HOSTILE_TEST"


@pytest.fixture(autouse=True)
def nothing_outlives(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every process that a test has started, children of drivers among them, is gone at its end."""
    token = secrets.token_hex(12)
    monkeypatch.setenv(MARK, token)
    yield
    text = f"{MARK}={token}".encode()
    until = time.monotonic() + 5
    while (left := _marked(text)) and time.monotonic() < until:
        time.sleep(0.01)
    assert left == []


def _marked(text: bytes) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir() if Path("/proc").is_dir() else ():
        if entry.name.isdecimal():
            try:
                if text in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
    return found
