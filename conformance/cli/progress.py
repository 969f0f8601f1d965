"""Progress of long work: one line with time left on a terminal, a plain line for each phase when piped."""

from __future__ import annotations

import sys
import time
from typing import IO

from conformance.outcome import Outcome
from conformance.run import Progress


class PlainProgress:
    """One line for each phase."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def phase(self, name: str, total: int) -> None:
        """Say what begins."""
        self._out.write(f"{name}{f': {total}' if total else ''}\n")
        self._out.flush()

    def step(self, outcome: Outcome | None) -> None:
        """Nothing: a log wants no ticks."""

    def finished(self) -> None:
        """Nothing."""


class LiveProgress:
    """A line that is rewritten, ten times a second at most."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._name, self._total, self._done, self._named = "", 0, 0, 0
        self._began = self._drawn = 0.0

    def phase(self, name: str, total: int) -> None:
        """Begin a phase."""
        self._name, self._total, self._done = name, total, 0
        self._began = time.monotonic()
        self._draw()

    def step(self, outcome: Outcome | None) -> None:
        """Count a step and what it violated."""
        self._done += 1
        self._named += bool(outcome and outcome.violations)
        if time.monotonic() - self._drawn > 0.1:
            self._draw()

    def finished(self) -> None:
        """Clear the line."""
        self._out.write("\r\x1b[2K")
        self._out.flush()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        passed = self._drawn - self._began
        left = passed / self._done * (self._total - self._done) if self._done and self._total else 0
        count = f" {self._done}/{self._total}" if self._total else ""
        failing = f", {self._named} failing" if self._named else ""
        self._out.write(f"\r\x1b[2K{self._name}{count}{failing}{f', {left:.0f} s left' if left >= 1 else ''}")
        self._out.flush()


def progress_for() -> Progress:
    """The progress that fits stderr."""
    return LiveProgress(sys.stderr) if sys.stderr.isatty() else PlainProgress(sys.stderr)
