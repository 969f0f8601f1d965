"""``onceproof spec …``: work on the specification itself."""

from __future__ import annotations

import argparse
from pathlib import Path

from conformance.cli.common import Subparsers, refuse


def add_parser(subparsers: Subparsers) -> None:
    """Mount the command."""
    parser = subparsers.add_parser("spec", help="work on the specification itself")
    inner = parser.add_subparsers(dest="spec_command", metavar="COMMAND", required=True)
    lint = inner.add_parser("lint", help="check the specification; every finding in one pass")
    lint.add_argument("--spec", type=Path, help="the folder of the specification (default: the one in use)")
    lint.set_defaults(run=run_lint)


def run_lint(args: argparse.Namespace) -> int:
    """Print the findings; exit 1 if there are any."""
    from statemachines import layout  # noqa: PLC0415
    from statemachines.lint import lint  # noqa: PLC0415
    from statemachines.plain import plain  # noqa: PLC0415

    root = args.spec or layout.default_root()
    if not root.is_dir():
        return refuse(f"{root}: there is no such folder; give the folder of a specification with --spec")
    findings = lint(root)
    for finding in findings:
        print(plain(finding))
    print(f"{len(findings)} finding{'s' * (len(findings) > 1)}" if findings else f"{root}: nothing to report")
    return 1 if findings else 0
