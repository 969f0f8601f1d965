"""``onceproof init``: a driver skeleton that works as it stands."""

from __future__ import annotations

import argparse
from pathlib import Path

from conformance.cli.common import Subparsers, refuse, say


def add_parser(subparsers: Subparsers) -> None:
    """Mount the command."""
    parser = subparsers.add_parser(
        "init",
        help="write a driver skeleton",
        description="Writes a driver of rung L0 around a tiny implementation, to be replaced by yours, and a page about"
        " it. It is fit as it stands (`onceproof doctor`). Nothing is ever overwritten.",
    )
    parser.add_argument("--language", choices=("python", "node"), required=True, help="of the driver")
    parser.add_argument("--family", default="mutation-host", help="the family to offer (default: mutation-host)")
    parser.add_argument("dir", type=Path, nargs="?", default=Path(), metavar="DIR", help="where to (default: here)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the files and say what to type next; exit 2 with nothing written when that cannot be done."""
    from conformance.skeletons import CannotWrite, command, offered, quoted, skeleton, write  # noqa: PLC0415

    families = list(offered(args.language))
    if args.family not in families:
        return refuse(f"--family {args.family}: there are skeletons in {args.language} for {', '.join(families)}")
    try:
        written = write(skeleton(args.family, args.language), args.dir)
    except CannotWrite as problem:
        return refuse(problem)
    driver = quoted(command(args.language, args.dir))
    say(
        f"wrote {' and '.join(str(path) for path in written)}\n"
        "next: is it fit, and what does the suite say of the tiny implementation inside?\n"
        f"  onceproof doctor --driver {driver}\n"
        f"  onceproof run --driver {driver}\n"
    )
    return 0
