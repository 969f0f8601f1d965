"""Lines of the driver protocol: one JSON object each, UTF-8, ended by a newline, at most 4 MiB (DESIGN section 5)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

Message = dict[str, Any]

#: The longest line in bytes, its newline not counted; larger things go through a file in the state directory.
MAX_LINE: Final = 4 * 1024 * 1024


#: Whole numbers beyond this are not exact in every language.
MAX_INT: Final = 2**53
_LONG_NUMBER: Final = re.compile(r"\d{16}")


class BadLine(Exception):
    """A line that is no protocol message. ``line`` holds its first bytes; the text says why it was refused."""

    def __init__(self, reason: str, line: bytes) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line[:400]


class LineBuffer:
    """Cuts a byte stream into lines; what has no newline yet stays in ``rest``."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self.rest = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Add bytes and yield every complete line without its newline; raises BadLine when one grows too long."""
        first, newline, tail = data.partition(b"\n")
        while newline:
            self.rest += first
            line = bytes(self.rest)
            self.rest.clear()
            self._check(line)
            yield line
            first, newline, tail = tail.partition(b"\n")
        self.rest += first
        self._check(self.rest)

    def _check(self, line: bytes | bytearray) -> None:
        if len(line) > self._limit:
            raise BadLine(f"a line is longer than {self._limit} bytes", bytes(line[:400]))


def encode(message: Message) -> bytes:
    """One message as a line with its newline; raises ValueError for what JSON cannot say (NaN, infinity)."""
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def decode(line: bytes) -> Message:
    """The message of one line; raises BadLine when it is not UTF-8, not JSON, or not an object."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise BadLine(f"not UTF-8 at byte {error.start}", line) from None
    try:
        # The check of each number costs more than the rest: only lines that may hold a long one pay for it.
        integer = _integer if _LONG_NUMBER.search(text) else None
        value = json.loads(text, parse_constant=_refuse_constant, parse_int=integer, object_pairs_hook=_object)
    except RecursionError:
        raise BadLine("JSON nested too deeply", line) from None
    except ValueError as error:
        raise BadLine(f"not JSON: {error}", line) from None
    if not isinstance(value, dict):
        raise BadLine("JSON, but not an object", line)
    return value


def _integer(digits: str) -> int:
    value = int(digits) if len(digits) < 20 else MAX_INT + 1
    if abs(value) > MAX_INT:
        raise ValueError(f"the whole number {digits[:30]}{'…' * (len(digits) > 30)} is beyond 2^53")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; which of two members of one name counts is open, so that two readers may see two messages."""
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has the member {twice[:60]!r} twice")
    return members


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")
