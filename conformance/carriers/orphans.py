"""Whether something that a driver started outlives it, also where it left the driver's process group."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import time
from pathlib import Path
from typing import Final

#: Processes inherit this variable, so that a child is known by it wherever it went.
VARIABLE: Final = "ONCEPROOF_MARK"
#: How long children may take to go, in real ms, once their driver was killed.
PATIENCE_MS: Final = 200
_PROC: Final = Path("/proc")


class Mark:
    """One command's mark in the environment of everything that it starts."""

    def __init__(self) -> None:
        self._text = f"{VARIABLE}={secrets.token_hex(12)}".encode()

    def environment(self) -> dict[str, str]:
        """The suite's environment with the mark."""
        name, _, value = self._text.decode().partition("=")
        return {**os.environ, name: value}

    def living(self) -> list[int]:
        """The marked processes that run; none where the system does not show them."""
        found = []
        for entry in _PROC.iterdir() if _PROC.is_dir() else ():
            if entry.name.isdecimal():
                # A process may end while one looks, or belong to somebody else.
                with contextlib.suppress(OSError):
                    if self._text in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
        return found

    def end(self, patience_ms: int = PATIENCE_MS) -> int:
        """Kill what still runs after ``patience_ms`` (real time), and return how many there were."""
        until = time.monotonic() + patience_ms / 1000
        while (left := self.living()) and time.monotonic() < until:
            time.sleep(0.005)
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        return len(left)
