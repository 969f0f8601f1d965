"""``onceproof run``: the suite against a driver, ending in a verdict."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from conformance.cli.common import Subparsers, add_deadline, count, jobs, refuse, requirement_id, say, unusable
from conformance.search.plan import BUDGETS


def add_parser(subparsers: Subparsers) -> None:
    """Mount the command."""
    parser = subparsers.add_parser("run", help="run the suite against a driver")
    parser.add_argument(
        "--driver",
        default="reference",
        help="'reference', 'reference:process', or the command line of a driver in quotes (default: reference)",
    )
    parser.add_argument("--profile", action="append", default=[], help="only this profile (may be repeated)")
    parser.add_argument(
        "--only", type=requirement_id, action="append", default=[], metavar="ID", help="judge only this requirement"
    )
    parser.add_argument(
        "--scenario", action="append", default=[], metavar="PATTERN", help="only scenarios whose name matches, no walks"
    )
    parser.add_argument(
        "--budget",
        choices=tuple(BUDGETS),
        default="ci",
        help="quick: every scenario once, a look that is never conclusive; ci: all single faults and preemptions, for a"
        " verdict; nightly: pairs of them as well (default: ci)",
    )
    parser.add_argument(
        "--schedules",
        type=count,
        default=0,
        metavar="N",
        help="at least N schedules: more random walks than the budget has by itself",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random walks (default: 0)")
    parser.add_argument(
        "--jobs", type=jobs, default=os.cpu_count() or 1, metavar="N", help="worker processes (default: one a core)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("runs/latest"), metavar="DIR", help="where reports go (default: runs/latest)"
    )
    parser.add_argument(
        "--baseline", type=Path, metavar="FILE", help="known failures and declared gaps, each with a reason"
    )
    add_deadline(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run, report, and return the exit code of the verdict."""
    # Imported here so that help and other commands start fast.
    from conformance.baseline import BaselineError  # noqa: PLC0415
    from conformance.carriers.base import DriverProblem, SuiteProblem  # noqa: PLC0415
    from conformance.carriers.orphans import Mark  # noqa: PLC0415
    from conformance.cli.progress import progress_for  # noqa: PLC0415
    from conformance.drivers import UnknownDriver  # noqa: PLC0415
    from conformance.report.terminal import terminal  # noqa: PLC0415
    from conformance.report.write import render  # noqa: PLC0415
    from conformance.run import run as run_suite  # noqa: PLC0415
    from conformance.scope import Options, UsageError  # noqa: PLC0415

    mark = Mark()
    options = Options(
        args.driver,
        tuple(args.profile),
        tuple(args.only),
        tuple(args.scenario),
        args.budget,
        args.seed,
        args.jobs,
        args.out,
        args.baseline,
        args.deadline,
        mark.environment(),
        args.schedules,
    )
    try:
        path = run_suite(options, progress_for())
    except (UsageError, BaselineError, UnknownDriver) as problem:
        return refuse(problem)
    except DriverProblem as problem:
        return unusable(problem)
    except SuiteProblem as problem:
        return refuse(f"the suite failed, which says nothing about the driver: {problem}", 5)
    except OSError as problem:
        return refuse(f"{problem.filename or args.out}: {problem.strerror}; choose another --out")
    finally:
        if left := mark.end():
            note = f"note: {left} of the driver's processes outlived it and were ended; `onceproof doctor` says more"
            print(note, file=sys.stderr)
    report = render(path)
    say(terminal(report, str(path.parent)))
    return 130 if report.footer["interrupted"] else report.verdict.exit
