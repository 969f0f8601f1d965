"""``onceproof report RUN.jsonl``: every report again from the record of a run, without running anything."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cli.common import Subparsers, refuse, say
from statemachines.plain import plain

if TYPE_CHECKING:
    from conformance.report.model import Report

#: What ``--format`` takes; ``terminal`` is printed, the others are files.
CHOICES = ("terminal", "json", "junit", "summary", "html")


def add_parser(subparsers: Subparsers) -> None:
    """Mount the command."""
    parser = subparsers.add_parser("report", help="render the reports of a run again")
    parser.add_argument(
        "record", type=Path, metavar="RUN.jsonl", help="the record of a run, or the folder that it lies in"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the files go (default: beside the record)")
    parser.add_argument(
        "--format", action="append", choices=CHOICES, default=[], help="only this one (may be repeated; default: all)"
    )
    parser.add_argument(
        "--publish",
        type=Path,
        nargs="?",
        const=Path("reports"),
        metavar="DIR",
        help="publish the run (default: reports)",
    )
    parser.add_argument(
        "--published",
        type=Path,
        nargs="?",
        const=Path("reports"),
        metavar="DIR",
        help="exit 1 if the published report of this version says anything else than the run",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Exit 0, 1 for a published report that is out of date, 2 for a record that cannot be read or published."""
    from conformance.records import RecordError  # noqa: PLC0415
    from conformance.report.publish import NotPublishable, drift, publish  # noqa: PLC0415
    from conformance.report.write import conclude  # noqa: PLC0415

    try:
        path = record_in(args.record)
        if args.published is not None:
            told = drift(path, args.published)
            say("".join(f"{plain(line)}\n" for line in told) or f"{plain(args.published)} is current\n")
            return int(bool(told))
        if args.publish is not None:
            say(f"published: {plain(publish(path, args.publish))}\n")
            return 0
        return _render(conclude(path, foreign=True), args.out or path.parent, args.format or list(CHOICES[1:]))
    except (RecordError, NotPublishable) as problem:
        return refuse(problem)


def record_in(path: Path) -> Path:
    """The record that is meant: the file itself, or the one in a folder."""
    if path.is_dir():
        names = ("run.jsonl", "run.jsonl.gz")
        return next((path / name for name in names if (path / name).is_file()), path / names[0])
    return path


def _render(report: Report, out: Path, formats: list[str]) -> int:
    from conformance.report.terminal import terminal  # noqa: PLC0415
    from conformance.report.write import write  # noqa: PLC0415

    files = write(report, out, [name for name in formats if name != "terminal"])
    if "terminal" in formats:
        say(terminal(report, ""))
    say("".join(f"{plain(file)}\n" for file in files))
    return 0
