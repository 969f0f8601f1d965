"""Parses arguments and dispatches; every command is a module of its own, imported when it is used."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence

#: A fault of the suite itself: never the exit code of a verdict (DESIGN section 7).
SUITE_FAILED = 5
COMMANDS = {
    "list": ("conformance.cli.list", "what is specified, and what of it is live"),
    "explain": ("conformance.cli.explain", "one requirement: what it demands, why, and how it is judged"),
    "init": ("conformance.cli.init", "write a driver skeleton"),
    "talk": ("conformance.cli.talk", "one short conversation with a driver, line by line"),
    "doctor": ("conformance.cli.doctor", "is a driver fit for its rung, and what has to be mended?"),
    "run": ("conformance.cli.run", "run the suite against a driver"),
    "replay": ("conformance.cli.replay", "run a saved failure again"),
    "baseline": ("conformance.cli.baseline", "write down the failures of a run as known ones"),
    "report": ("conformance.cli.report", "render the reports of a run again"),
    "diff": ("conformance.cli.diff", "compare two runs by requirement"),
    "mutants": ("conformance.cli.mutants", "prove the checks: deviations, legal variants, lazy drivers"),
    "spec": ("conformance.cli.spec", "work on the specification itself"),
    "lane": ("statemachines.lanes.command", "order the rows of a lane and draw it"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``onceproof``; returns the exit code (see ``docs/exit-codes.md``)."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="onceproof", description="Does an implementation keep its promises about outbound side effects?"
    )
    parser.add_argument("--version", action="version", version="onceproof 0.1.0")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    chosen = next((w for w in words if not w.startswith("-")), None)
    for name, (module, text) in COMMANDS.items():
        if name == chosen:
            importlib.import_module(module).add_parser(subparsers)
        else:
            subparsers.add_parser(name, help=text, add_help=False)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show an arrow gets its number, never a traceback. Replaced streams need no such care.
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    args = parser.parse_args(words)
    # A stop by a CI server ends a run as Ctrl-C does: with a partial report.
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGTERM, _interrupt)
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe went away: nothing is wrong here, and nothing more can be said.
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except OSError as problem:
        # A full disk, a closed device, a folder where a file should be: the machine, neither suite nor driver.
        return _unwritable(problem)
    except Exception as bug:
        return _bug(bug)
    return code


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _unwritable(problem: OSError) -> int:
    from conformance.cli.common import refuse  # noqa: PLC0415

    what = problem.filename or "the output"
    return refuse(f"{what} cannot be read or written: {problem.strerror or problem}; give another place")


def _bug(bug: Exception) -> int:
    """A failure that nobody foresaw: one sentence, and the traceback for those who ask for it."""
    if os.environ.get("ONCEPROOF_TRACEBACK"):
        traceback.print_exception(bug)
    frame = traceback.extract_tb(bug.__traceback__)[-1]
    where = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    from conformance.cli.common import refuse  # noqa: PLC0415

    return refuse(
        f"the suite itself failed, which says nothing about the driver: {type(bug).__name__}: {bug} ({where});"
        " set ONCEPROOF_TRACEBACK=1 and report what it prints",
        SUITE_FAILED,
    )
