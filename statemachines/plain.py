"""The edge to the terminal: text that others wrote may be shown, never obeyed."""

from __future__ import annotations

import re
from typing import Final

#: What moves a cursor, changes colours, reverses the direction of writing, forges a line or cannot be encoded.
_UNSAFE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_UNSAFE_IN_LINES: Final = re.compile(_UNSAFE.pattern.replace("\x00-\x1f", "\x00-\x09\x0b-\x1f"))


def plain(text: object, *, lines: bool = False) -> str:
    """``text`` with every control character spelled out, such as ``\\x1b`` for an escape.

    ``lines`` keeps line breaks: for a whole page whose parts went through here one by one already.
    """
    pattern = _UNSAFE_IN_LINES if lines else _UNSAFE
    return pattern.sub(_spell, str(text))


def indented(text: object) -> list[str]:
    """The lines of ``text``, made harmless, all but the first one indented: so none of them passes for another's."""
    first, *more = str(text).split("\n")
    return [plain(first), *(f"    {plain(line)}" for line in more)]


def _spell(match: re.Match[str]) -> str:
    code = ord(match.group())
    short = {9: "\\t", 10: "\\n", 13: "\\r"}.get(code)
    return short or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
