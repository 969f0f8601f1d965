"""``onceproof doctor``: is a driver fit for its rung, and what has to be mended?"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from conformance.cli.common import Subparsers, add_deadline, refuse, say
from statemachines.plain import indented, plain

if TYPE_CHECKING:
    from conformance.doctor.report import Checked, Report


def add_parser(subparsers: Subparsers) -> None:
    """Mount the command."""
    parser = subparsers.add_parser(
        "doctor",
        help="is a driver fit for its rung, and what has to be mended?",
        description="Tries everything that a driver's rung promises: answers, isolation, kills, rows, time, points. It"
        " judges no requirement: `run` does. Exit 0 fit, 1 something to mend, 3 it does not speak.",
    )
    parser.add_argument("--driver", required=True, help="as for `run`: the command line of a driver in quotes")
    parser.add_argument("--family", help="only this family (default: all that the driver offers)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="what to print (default: text)")
    add_deadline(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Examine, print, and return 0, 1 or 3; 2 when nothing can be examined."""
    from conformance.carriers.base import DriverProblem, SuiteProblem  # noqa: PLC0415
    from conformance.carriers.orphans import Mark  # noqa: PLC0415
    from conformance.carriers.places import remove_left_behind  # noqa: PLC0415
    from conformance.cli.common import unusable  # noqa: PLC0415
    from conformance.doctor.examine import examine  # noqa: PLC0415
    from conformance.drivers import PATIENCE_MS, UnknownDriver, carrier_maker  # noqa: PLC0415
    from conformance.families import FAMILIES  # noqa: PLC0415

    if args.family is not None and args.family not in FAMILIES:
        return refuse(f"--family {args.family}: this suite knows {', '.join(FAMILIES)}")
    remove_left_behind()
    mark = Mark()
    started = time.monotonic()
    try:
        carrier = carrier_maker(args.driver, env=mark.environment(), deadline_ms=args.deadline)()
        patience = min(PATIENCE_MS, args.deadline)
        more: dict[str, Any] = {"patience_ms": patience, "mark": mark, "begun": _progress()}
        report = examine(args.driver, carrier, FAMILIES, wanted=args.family, **more)
    except UnknownDriver as problem:
        return refuse(problem)
    except DriverProblem as problem:
        return unusable(problem)
    except SuiteProblem as problem:
        return refuse(f"the suite failed, which says nothing about the driver: {problem}", 5)
    finally:
        _clear()
    if args.format == "json":
        print(json.dumps(report.to_json(), indent=1))
    else:
        say("".join(f"{line}\n" for line in page(report, time.monotonic() - started)))
    return report.exit


def page(report: Report, seconds: float) -> Iterator[str]:
    """The report as lines of text."""
    identity = report.identity
    if identity is not None:
        families = ", ".join(identity.families) or "no family"
        yield plain(f"{identity.name} {identity.version} ({identity.language}) declares {identity.rung} in {families}")
    family = None
    for checked in report.checks:
        if checked.family != family:
            family = checked.family
            if family:
                yield f"\n{plain(family)}"
            elif identity is not None and checked.id != "hello":
                yield ""
        yield from _lines(checked)
    yield ""
    yield from _conclusion(report, seconds)


def _lines(checked: Checked) -> Iterator[str]:
    yield f"  {checked.status.upper() if checked.mend else checked.status:<9}  {checked.rung}  {checked.title}"
    for kind, sentences in (("mend", checked.mend), ("remark", checked.remarks)):
        for sentence in sentences:
            first, *more = indented(f"{kind}: {sentence}")
            yield f"      {first}"
            yield from (f"      {line}" for line in more)


def _conclusion(report: Report, seconds: float) -> Iterator[str]:
    identity = report.identity
    if identity is None:
        yield "it does not speak; `onceproof talk` shows the conversation line by line"
        return
    broken = sum(c.status != "ok" for c in report.checks)
    judged = f"{len(report.checks)} checks in {seconds:.1f} s"
    yield f"{'fit for' if report.fit else 'NOT fit for'} {identity.rung}: {judged}, {broken} not passed"
    yield from (plain(sentence) for sentence in report.lift)
    command = f"onceproof {'run' if report.fit else 'talk'} --driver {json.dumps(report.driver, ensure_ascii=False)}"
    yield f"next: {plain(command)}"


def _progress() -> _Progress | _Silent:
    return _Progress() if sys.stderr.isatty() else _Silent()


class _Silent:
    """Nothing is told where nobody sits in front."""

    def __call__(self, title: str) -> None:
        """Say nothing."""


class _Progress:
    """What is being done, on one line of a terminal."""

    def __call__(self, title: str) -> None:
        """Show the title in place of the one before."""
        sys.stderr.write(f"\r\x1b[K{plain(title)[:78]}")
        sys.stderr.flush()


def _clear() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
