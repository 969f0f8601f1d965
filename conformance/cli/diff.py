"""``onceproof diff A B``: two runs, requirement by requirement."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from conformance.cli.common import Subparsers, refuse, say


def add_parser(subparsers: Subparsers) -> None:
    """Mount the command."""
    parser = subparsers.add_parser("diff", help="compare two runs by requirement")
    parser.add_argument("before", type=Path, metavar="A", help="the earlier run: its run.jsonl, or its folder")
    parser.add_argument("after", type=Path, metavar="B", help="the later one")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Exit 0, 1 if a requirement or the verdict got worse, 2 for a record that cannot be read."""
    from conformance.cli.report import record_in  # noqa: PLC0415
    from conformance.records import RecordError  # noqa: PLC0415
    from conformance.report.compare import as_document, as_text, compare  # noqa: PLC0415
    from conformance.report.write import conclude  # noqa: PLC0415

    try:
        found = compare(*(conclude(record_in(path), foreign=True) for path in (args.before, args.after)))
    except RecordError as problem:
        return refuse(problem)
    if args.format == "json":
        print(json.dumps(as_document(found), indent=1))
    else:
        say(as_text(found))
    return int(found.worse)
