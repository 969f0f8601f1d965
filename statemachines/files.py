"""Reading a file that somebody else names: only what is a file, never a device or a pipe that nobody writes to."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

#: Where a shell puts a pipe of its own (`<(command)`): it has a writer, and may be read.
_OWN_PIPES: Final = ("/dev/fd/", "/proc/self/fd/")


def opened(path: Path) -> BinaryIO:
    """The file for reading; raises OSError, with a reason in words, for what is none.

    Opening never waits, as a pipe without a writer would make it.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        own_pipe = stat.S_ISFIFO(mode) and str(path).startswith(_OWN_PIPES)
        if not stat.S_ISREG(mode) and not own_pipe:
            raise OSError(errno.EINVAL, "it is no regular file but a pipe, a socket or a device", str(path))
        os.set_blocking(handle, True)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_bytes(path: Path) -> bytes:
    """The whole content; raises OSError as :func:`opened` does."""
    with opened(path) as file:
        return file.read()
