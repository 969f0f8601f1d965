"""Progress of work whose results are printed as they come: how many of how many, and how long it will take yet."""

from __future__ import annotations

import time
from typing import IO

#: A log gets so many lines at most.
_LINES = 20


class CountProgress:
    """A line that is rewritten on a terminal; elsewhere a plain line now and then."""

    def __init__(self, out: IO[str], name: str, total: int) -> None:
        self._out = out
        self._name = name
        self._total = total
        self._live = out.isatty()
        self._began = time.monotonic()
        self._said = 0
        if self._live:
            self._write(f"{name}: 0/{total}")

    def done(self, count: int, what: str) -> None:
        """So many are done, the latest of them ``what``; the time left is told from how long those took."""
        left = (time.monotonic() - self._began) / count * (self._total - count)
        text = f"{self._name}: {count}/{self._total} {what}{f', {left:.0f} s left' if left >= 1 else ''}"
        if self._live:
            self._write(text)
        elif count == self._total or (count - self._said) * _LINES >= self._total:
            self._said = count
            self._write(f"{text}\n")

    def clear(self) -> None:
        """Make room on the terminal for a result."""
        if self._live:
            self._write("\r\x1b[2K")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
