"""What several commands share."""

from __future__ import annotations

import argparse
import difflib
import sys
from typing import TYPE_CHECKING, Any

from conformance.plain import plain

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    Subparsers = Any

USAGE = 2


def refuse(sentence: object, code: int = USAGE) -> int:
    """Say one sentence on stderr and give the exit code; what a driver or a file contributed is made harmless."""
    print(f"onceproof: {plain(sentence, lines=True)}", file=sys.stderr)
    return code


def say(page: str) -> None:
    """Print a page that ends in a line break; control characters do not reach the terminal."""
    print(plain(page, lines=True), end="")


def nearest(word: str, known: list[str]) -> str:
    """A hint at the likely meaning of an unknown word, or nothing."""
    near = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {near[0]}?" if near else ""
