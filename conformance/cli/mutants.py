"""``onceproof mutants``: proves that the checks can fail, and that they do not fail too much."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from conformance.cli.common import Subparsers, jobs, nearest, refuse
from conformance.cli.counting import CountProgress

if TYPE_CHECKING:
    from conformance.mutants import Result


def add_parser(subparsers: Subparsers) -> None:
    """Mount the command."""
    parser = subparsers.add_parser("mutants", help="prove the checks: deviations, legal variants, lazy drivers")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="only this one (may be repeated)")
    parser.add_argument(
        "--scenario",
        action="append",
        default=[],
        metavar="PATTERN",
        help="a quick look: only matching scenarios, with all their schedules",
    )
    parser.add_argument("--full", action="store_true", help="every schedule for every suspect (hours), no selection")
    parser.add_argument(
        "--pending", action="store_true", help="only the deviations that wait to be found (deviations/pending.txt)"
    )
    parser.add_argument("--jobs", type=jobs, default=os.cpu_count() or 1, metavar="N")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the matrix; exit 1 if it does not prove what it has to."""
    from conformance.mutants import document, judge_matrix, matrix  # noqa: PLC0415
    from conformance.scope import UsageError  # noqa: PLC0415
    from conformance.suspects import all_suspects, reference  # noqa: PLC0415

    suspects = all_suspects()
    known = [s.id for s in suspects]
    for wanted in args.only:
        if wanted not in known:
            return refuse(f"there is no deviation, variant or lazy driver {wanted!r}{nearest(wanted, known)}")
    waiting = [s for s in suspects if s.pending]
    chosen = [s for s in suspects if (s.id in args.only if args.only else bool(s.pending) == args.pending)]
    results: list[Result] = []
    progress = CountProgress(sys.stderr, "kill matrix", len(chosen))
    try:
        for result in matrix(chosen, args.jobs, None if args.full or args.scenario else reference, args.scenario):
            results.append(result)
            progress.clear()
            if args.format == "text":
                print(_line(result), flush=True)
            progress.done(len(results), result.id)
    except UsageError as problem:
        return refuse(problem)
    progress.clear()
    idle = sorted(set(args.only) - {result.id for result in results})
    if idle:
        return refuse(f"--only {', '.join(idle)}: runs no scenario of --scenario; choose one of its own family")
    judgement = judge_matrix(results)
    if args.format == "json":
        print(json.dumps(document(results, judgement), indent=1))
    else:
        _summary(judgement.complaints, judgement.median_named, judgement.totals, len(waiting))
    return 1 if judgement.complaints else 0


def _line(result: Result) -> str:
    named = ", ".join(f"{name} {count}" for name, count in result.named.items()) or "nothing named"
    if result.kind == "deviation":
        word = f"found after {result.first}" if result.found else "SURVIVED"
    elif result.kind == "variant":
        word = "survived" if result.survived else "KILLED"
    else:
        word = f"passes {len(result.passed)}"
    return f"{result.kind:<10} {result.id:<34} {result.names:<14} {word:<16} of {result.schedules:<5} {named}"


def _summary(complaints: Sequence[str], middle: float, totals: Mapping[str, int], waiting: int) -> None:
    print(
        f"\n{totals['found']} of {totals['deviations']} deviations found, a median of {middle:g} named;"
        f" {totals['survived']} of {totals['variants']} variants survived; {totals['lazy']} lazy drivers"
    )
    if waiting:
        print(f"{waiting} more deviations are pending: the suite does not name them yet, or has never met them")
    for complaint in complaints:
        print(f"  {complaint}")
