"""Where state directories lie, who they belong to, and how those of dead suites are removed.

A name carries the number of its suite's process. The suite also holds a lock on the directory for as long as it lives,
since in another container the same number may belong to nobody, or to somebody else.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"onceproof-(\d+)-\w+")


@cache
def store_root() -> Path:
    """Where state directories are made: memory-backed where the machine has it, else the temporary directory."""
    shm = Path("/dev/shm")
    return shm if shm.is_dir() else Path(tempfile.gettempdir())


class StateDirectory:
    """A fresh state directory of this suite, from its making to :meth:`remove`."""

    def __init__(self, root: Path | None = None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=f"onceproof-{os.getpid()}-", dir=root or store_root()))
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def remove(self) -> None:
        """Take it away with all that is in it, and give the lock back; a second call does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def remove_left_behind(root: Path | None = None) -> list[str]:
    """Remove the state directories of suites that have died, and return their names.

    Only those of this user whose process is gone and whose lock is free; anything doubtful stays.
    """
    removed = []
    for entry in sorted((root or store_root()).glob("onceproof-*")):
        match = _NAME.fullmatch(entry.name)
        if match and not _lives(int(match[1])) and _remove_if_free(entry):
            removed.append(entry.name)
    return removed


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        # It lives and belongs to somebody else, or is no number of a process: not ours to judge.
        return True
    return True


def _remove_if_free(folder: Path) -> bool:
    try:
        # A symbolic link is not followed: the root may be writable by everybody.
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        found = os.fstat(handle)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            return False
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with contextlib.suppress(OSError):
            shutil.rmtree(folder)
        return not folder.exists()
    except OSError:
        return False
    finally:
        os.close(handle)
