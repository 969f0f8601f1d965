"""The guardian: a tiny process that kills what the suite has left behind, however the suite ended.

It reads ``+<process group>`` and ``-<process group>`` lines from the suite. At the line ``end``, or at the end of the
stream, which comes even when the suite is killed, it sends SIGKILL to every group that is still registered.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def watch(stream: int) -> None:
    """The guardian's whole life; ``stream`` is the descriptor it listens on."""
    groups: set[int] = set()
    with os.fdopen(stream, "rb") as lines:
        for line in lines:
            if line == b"end\n":
                break
            group = int(line[1:])
            if line[:1] == b"+":
                groups.add(group)
            else:
                groups.discard(group)
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)


class Guardian:
    """The suite's side of it. It starts with the first group and ends with :meth:`close`."""

    def __init__(self) -> None:
        self._pid: int | None = None
        self._stream = -1
        self._groups: set[int] = set()

    def add(self, group: int) -> None:
        """This process group is to die with the suite."""
        self._groups.add(group)
        self._tell(b"+%d\n" % group)

    def remove(self, group: int) -> None:
        """This process group has ended, and its number may go to somebody else."""
        self._groups.discard(group)
        self._tell(b"-%d\n" % group)

    def close(self) -> None:
        """Let the guardian do its last work and wait for it."""
        if self._pid is not None:
            # Said, not only closed: a process that the suite forked may hold the other end of the stream too.
            with contextlib.suppress(OSError):
                os.write(self._stream, b"end\n")
            self._bury()

    def _tell(self, line: bytes) -> None:
        try:
            if self._pid is not None:
                os.write(self._stream, line)
                return
        except OSError:
            # Somebody killed the guardian: the next one learns all that it has to know.
            self._bury()
        self._start()
        for group in self._groups:
            os.write(self._stream, b"+%d\n" % group)

    def _bury(self) -> None:
        assert self._pid is not None
        os.close(self._stream)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        self._pid = None

    def _start(self) -> None:
        mine, self._stream = os.pipe()
        # A session of its own: the interrupt key of a terminal does not reach it.
        self._pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", __file__],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, mine, 0)],
            setsid=True,
        )
        os.close(mine)


if __name__ == "__main__":
    watch(0)
