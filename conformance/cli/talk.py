"""``onceproof talk``: one short conversation with a driver, printed line by line as it goes by."""

from __future__ import annotations

import argparse
import json
from typing import Any

from conformance.cli.common import DRIVER_FAILED, Subparsers, add_deadline, refuse, say, unusable
from statemachines.plain import indented, plain


def add_parser(subparsers: Subparsers) -> None:
    """Mount the command."""
    parser = subparsers.add_parser(
        "talk",
        help="one short conversation with a driver, line by line",
        description="Says hello, has one effect and its retry, kills a process in the middle, recovers, says bye; shows"
        " every line, and says what is wrong with the driver. It judges no requirement: `run` does.",
    )
    parser.add_argument("--driver", required=True, help="as for `run`: the command line of a driver in quotes")
    parser.add_argument("--family", help="the family to talk in (default: the first that the driver offers)")
    add_deadline(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Exit 0 if nothing is wrong with the conversation, 3 if something is, 2 if it cannot be held at all."""
    from conformance.carriers.base import DriverProblem, SuiteProblem  # noqa: PLC0415
    from conformance.carriers.places import remove_left_behind  # noqa: PLC0415
    from conformance.drivers import UnknownDriver, carrier_maker  # noqa: PLC0415
    from conformance.families import FAMILIES  # noqa: PLC0415
    from conformance.talk import NoSuchFamily, talk  # noqa: PLC0415

    remove_left_behind()
    try:
        carrier = carrier_maker(args.driver, deadline_ms=args.deadline)()
    except UnknownDriver as problem:
        return refuse(problem)
    except DriverProblem as problem:
        return unusable(problem)
    try:
        found = talk(carrier, dict(FAMILIES), args.family, _line, _act)
    except NoSuchFamily as problem:
        return refuse(problem)
    except SuiteProblem as problem:
        return refuse(f"the suite failed, which says nothing about the driver: {problem}", 5)
    finally:
        carrier.shutdown()
    say("\n")
    for kind, sentences in (("remark", found.remarks), ("problem", found.problems)):
        for sentence in sentences:
            say("\n".join(indented(f"{kind}: {sentence}")) + "\n")
    if found.problems:
        return DRIVER_FAILED
    assert found.identity is not None
    more = "; the points of L2 were not tried" if found.identity.rung == "L2" else ""
    command = f"onceproof run --driver {plain(json.dumps(args.driver, ensure_ascii=False))}"
    say(f"the conversation is in order, and nothing was judged{more}; go on with\n  {command}\n")
    return 0


def _act(title: str) -> None:
    say(f"\n# {title}\n")


def _line(way: str, proc: str, message: dict[str, Any] | None) -> None:
    # The whole line, however long: somebody may want to feed it to a driver by hand.
    text = "" if message is None else json.dumps(message, separators=(",", ":"), ensure_ascii=False)
    say(f"{plain(proc):<8} {way} {plain(text)}".rstrip() + "\n")
