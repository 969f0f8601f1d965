"""``onceproof baseline``: write the failures of a run down as known ones, to be excused until a day."""

from __future__ import annotations

import argparse
from pathlib import Path

from conformance.cli.common import Subparsers, refuse, say


def add_parser(subparsers: Subparsers) -> None:
    """Mount the command."""
    parser = subparsers.add_parser("baseline", help="write down the failures of a run as known ones")
    parser.add_argument(
        "record", type=Path, metavar="RUN.jsonl", help="the record of a run, such as runs/latest/run.jsonl"
    )
    parser.add_argument("--reason", required=True, help="why they are not mended yet")
    parser.add_argument("--issue", required=True, help="where they are tracked")
    parser.add_argument(
        "--expires", required=True, metavar="DAY", help="the last day they are excused, such as 2027-03-31"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("baseline.yaml"), metavar="FILE", help="default: baseline.yaml"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the file; it replaces nothing that exists."""
    from conformance.baseline import baseline_text, failing, is_day  # noqa: PLC0415
    from conformance.records import RecordError, read_run  # noqa: PLC0415
    from conformance.report.model import build  # noqa: PLC0415

    if not is_day(args.expires):
        return refuse(f"--expires {args.expires!r} is no day such as 2027-03-31")
    if not args.reason.strip() or not args.issue.strip():
        return refuse("--reason and --issue have to say something")
    try:
        report = build(read_run(args.record))
    except RecordError as problem:
        return refuse(problem)
    if report.header["only"] or report.header["scenarios"] or not report.complete:
        return refuse(f"{args.record} is no whole run; a baseline needs one without --only and --scenario")
    failures = list(failing(report.standings, report.known))
    if not failures:
        return refuse(f"{args.record} has no failure to excuse; there is nothing to write")
    try:
        with args.out.open("x", encoding="utf-8") as file:
            file.write(baseline_text(failures, args.reason, args.issue, args.expires))
    except FileExistsError:
        return refuse(f"{args.out} exists; edit it, or write elsewhere with --out")
    say(f"{args.out}: {len(failures)} known failures; run again with --baseline {args.out}\n")
    return 0
