"""``onceproof replay FILE``: a saved failure, run again without Hypothesis."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cli.common import Subparsers, add_deadline, refuse, say, unusable

if TYPE_CHECKING:
    from conformance.drivers import Identity
    from conformance.history import History
    from conformance.trace import Trace


def add_parser(subparsers: Subparsers) -> None:
    """Mount the command."""
    parser = subparsers.add_parser("replay", help="run a saved failure again")
    parser.add_argument("file", type=Path, help="a trace that a run has written")
    parser.add_argument("--driver", help="the driver to run it against (default: the one of the trace)")
    add_deadline(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Exit 1 if the violation shows again, 0 if it does not, 3 if the driver could not be used."""
    from conformance.carriers.base import DriverProblem, SuiteProblem  # noqa: PLC0415
    from conformance.drivers import UnknownDriver, carrier_maker, identify  # noqa: PLC0415
    from conformance.families import FAMILIES  # noqa: PLC0415
    from conformance.report.story import story  # noqa: PLC0415
    from conformance.search.failures import drawn, replay  # noqa: PLC0415
    from conformance.trace import TraceError, read_trace  # noqa: PLC0415
    from statemachines.plain import plain  # noqa: PLC0415
    from statemachines.spec import load  # noqa: PLC0415

    spec = load()
    try:
        trace = read_trace(args.file)
        folder = None if args.driver is not None else typed_in(args.file, trace.folder)
        driver = trace.driver if args.driver is None else args.driver
        carrier = carrier_maker(driver, folder=folder, deadline_ms=args.deadline)()
    except (TraceError, UnknownDriver) as problem:
        return refuse(problem)
    if trace.program.family not in FAMILIES:
        return refuse(f"{args.file}: this onceproof knows no family {trace.program.family!r}")
    if trace.spec != spec.digest:
        print(
            f"note: the trace was made with another specification ({plain(trace.spec[:12])}, here {spec.digest[:12]})",
            file=sys.stderr,
        )
    family = FAMILIES[trace.program.family]
    if trace.requirement not in family.checkers:
        return refuse(f"{args.file}: {trace.requirement} is judged by no checker of {family.id}; the trace was edited")
    if not any(op.op in ("call", "recover") for op in trace.program.ops):
        return refuse(f"{args.file}: its program asks nothing of the driver; the trace was edited")
    try:
        identity = identify(carrier)
        unfit = _unfit(trace, identity)
        if unfit:
            return unusable(unfit)
        carrier.rung, readings = identity.rung, identity.readings
        seen = replay(family, trace.program, carrier, trace.requirement, readings)
    except DriverProblem as problem:
        hint = "" if args.driver is not None else _where(trace.driver, folder)
        return unusable(f"{problem}{hint}")
    except SuiteProblem as problem:
        return refuse(f"the suite failed, which says nothing about the driver: {problem}", 5)
    finally:
        carrier.shutdown()
    failing = [(violation, history) for violation, history in seen if violation is not None]
    if not failing:
        undone = _undone(trace, [history for _, history in seen])
        if undone:
            return unusable(undone)
        missed = sum(any(e.kind == "missed" for e in history.of("suite")) for _, history in seen)
        if missed:
            print(
                f"note: in {missed} of {len(seen)} runs a fault of the trace did not strike, since the driver makes"
                " other calls; whether the failure is mended a whole run tells",
                file=sys.stderr,
            )
        say(f"{plain(trace.requirement)} holds: the violation did not show in {len(seen)} runs of {plain(args.file)}\n")
        return 0
    from dataclasses import replace as with_members  # noqa: PLC0415

    violation, history = failing[0]
    picture = drawn(family, history, violation, readings)
    again = with_members(
        trace, violation=violation, history=history, failed=len(failing), runs=len(seen), picture=picture
    )
    say(story(again, spec.requirements, str(args.file)))
    return 1


def _unfit(trace: Trace, identity: Identity) -> str:
    """Why a driver that says this of itself can show nothing of a failure; empty where it can."""
    family = trace.program.family
    if family not in identity.families:
        return (
            f"it declares {', '.join(identity.families)}, and the trace is one of {family}; give a driver of that"
            " family with --driver"
        )
    if trace.violation.evidence == "rows" and identity.rung == "L0":
        return "it declares L0, and the failure shows in rows, which are read from L1 on; give one that has a snapshot"
    return ""


def _undone(trace: Trace, histories: list[History]) -> str:
    """What the driver did not do of what the trace asks, so that nothing is known; empty where it did all."""
    from conformance.outcome import gaps  # noqa: PLC0415

    for history in histories:
        for event in history.of("answer"):
            if event.data["outcome"] == "failed":
                return (
                    f"{event.data['cmd']} failed: {event.data.get('detail')}; the violation did not show, and need not"
                )
        lacking = set(gaps(history)) - set(gaps(trace.history))
        if lacking:
            return f"it does not do {', '.join(sorted(lacking))}, which the trace asks of it; nothing is known"
    return ""


def typed_in(file: Path, folder: str) -> Path | None:
    """The folder in which the driver of a trace was typed, so that its command is the same from anywhere.

    None, the present folder, where the trace was taken out of its tree and that folder is not there.
    """
    found = (file.resolve().parent / folder).resolve()
    return found if found.is_dir() else None


def _where(driver: str, folder: Path | None) -> str:
    if driver.partition(":")[0].partition("+")[0] == "reference":
        return ""
    where = "the present folder, since that of the run is not there" if folder is None else str(folder)
    return (
        f"\nthe trace holds the command as it was typed for the run, {driver!r}, and it was started in {where}; give"
        " the right one with --driver"
    )
