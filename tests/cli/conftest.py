"""Running the command line in the test's own process, and its output with what differs between runs taken out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main


@dataclass(frozen=True, slots=True)
class Result:
    """What a command gave: its exit code and both streams, as they were and normalised."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def page(self) -> str:
        """Everything that a user sees, normalised, with the exit code at the end."""
        parts = [self.out, *([f"--- stderr\n{self.err}"] if self.err else []), f"--- exit {self.code}\n"]
        return normal("".join(parts), self.folder)


Cli = Callable[..., Result]

#: What differs from run to run, or grows with the specification: never asserted here.
_NORMAL: tuple[tuple[str, Any], ...] = (
    (r" in [\d.]+ s\b", " in T s"),
    (r"\d+ schedules? over \d+ fault points?", "N schedules over N fault points"),
    (r"of \d+ in the specification \(\d+ planned\)", "of N in the specification (N planned)"),
    (r"shrunk from \d+ steps", "shrunk from N steps"),
    (r"(?m)^(mutation-host): \d+$", r"\1: N"),
    (
        r"(?m)^(\w+ +[A-Z]+-\d+ +\d/\d cells  ).*$",
        lambda m: m.group(1) + re.sub(r"\d+", "N", m.group()[m.end(1) - m.start() :]),
    ),
    (r"(?m)^faults that struck: .*$(\n  .*)*", "faults that struck: …"),
    (r"(?m)^transitions taken: .*$(\n  .*)*", "transitions taken: …"),
    (r"(?m)^\d+ more deviations are pending", "N more deviations are pending"),
    (r"found after \d+ *of \d+ *", "found after N of N "),
    (r"(survived|passes \d+|SURVIVED|KILLED) +of \d+ *", r"\1 of N "),
    (r", \d+ s left", ""),
)


def normal(text: str, folder: Path) -> str:
    """The text without times, counts that grow, and the folder of the test."""
    text = text.replace(str(folder), "FOLDER")
    for pattern, replacement in _NORMAL:
        text = re.sub(pattern, replacement, text)
    return text


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """``cli("run", "--budget", "quick")`` as on a pipe 80 columns wide, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("ONCEPROOF_TRACEBACK", raising=False)

    def run(*words: str) -> Result:
        capsys.readouterr()
        try:
            code = main(words)
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        said = capsys.readouterr()
        return Result(code, said.out, said.err, tmp_path)

    return run
