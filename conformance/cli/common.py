"""What several commands share."""

from __future__ import annotations

import argparse
import difflib
import sys
from typing import TYPE_CHECKING, Any

from statemachines.plain import indented, plain

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    Subparsers = Any

USAGE = 2
DRIVER_FAILED = 3
#: As in conformance.carriers.subprocess, which is not imported for a page of help.
DEADLINE_MS = 10_000


def refuse(sentence: object, code: int = USAGE) -> int:
    """Say one sentence on stderr and give the exit code; what others contributed is made harmless."""
    print(f"onceproof: {plain(sentence)}", file=sys.stderr)
    return code


def unusable(problem: object) -> int:
    """Say why a driver cannot be used, with its last words below, and give the exit code."""
    print("\n".join(indented(f"onceproof: the driver could not be used: {problem}")), file=sys.stderr)
    return DRIVER_FAILED


def say(page: str) -> None:
    """Print a page that ends in a line break; control characters do not reach the terminal."""
    print(plain(page, lines=True), end="")


def jobs(text: str) -> int:
    """The value of ``--jobs``: a number of worker processes."""
    number = int(text) if text.isdecimal() else 0
    if not 1 <= number <= 64:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 64")
    return number


def add_deadline(parser: argparse.ArgumentParser) -> None:
    """The option ``--deadline``, where driver processes are started."""
    parser.add_argument(
        "--deadline",
        type=_milliseconds,
        default=DEADLINE_MS,
        metavar="MS",
        help="how long a driver may be silent, in real milliseconds (default: 10000)",
    )


def _milliseconds(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) < 10 else 0
    if not 50 <= number <= 3_600_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of milliseconds from 50 to 3600000")
    return number


def count(text: str) -> int:
    """The value of ``--schedules``: how many there are to be."""
    number = int(text) if text.isdecimal() and len(text) <= 9 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is no number from 1 to 999999999")
    return number


def requirement_id(text: str) -> str:
    """A requirement as people type it, in the form of the specification: ``mut-9`` is ``MUT-009``."""
    prefix, dash, number = text.strip().upper().rpartition("-")
    return f"{prefix}-{number.zfill(3)}" if dash and number.isdecimal() else text


def nearest(word: str, known: list[str]) -> str:
    """A hint at the likely meaning of an unknown word, or nothing."""
    near = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {near[0]}?" if near else ""
