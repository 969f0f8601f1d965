"""``onceproof explain ID``: one requirement in full."""

from __future__ import annotations

import argparse
import textwrap

from conformance.cli.common import Subparsers, nearest, refuse, requirement_id
from statemachines.model import Requirement
from statemachines.spec import Spec, load


def add_parser(subparsers: Subparsers) -> None:
    """Mount the command."""
    parser = subparsers.add_parser("explain", help="one requirement: what it demands, why, and how it is judged")
    parser.add_argument("id", help="the requirement, such as MUT-015")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the explanation; exit 2 for an unknown id."""
    spec = load()
    requirement = spec.requirements.get(requirement_id(args.id))
    if requirement is None:
        return refuse(f"there is no requirement {args.id!r}{nearest(requirement_id(args.id), list(spec.requirements))}")
    print(explain(spec, requirement))
    return 0


def explain(spec: Spec, r: Requirement) -> str:
    """The explanation as plain text."""
    lines = [
        f"{r.id}  {r.level.replace('_', ' ')}  {r.kind}, profile {r.profile}",
        "",
        *textwrap.wrap(r.statement, 100),
        "",
        f"source    {r.source} {r.where}",
        f"status    {r.status}" + (f" ({r.same_as})" if r.same_as else "") + (", core" if r.core else ""),
    ]
    if r.reason:
        lines.append(f"reason    {r.reason}")
    for name, text in (("given", r.given), ("when", r.when), ("then", r.then), ("wrong", r.mutant), ("note", r.note)):
        if text:
            wrapped = textwrap.wrap(text, 90)
            lines += [f"{name:<9} {wrapped[0]}", *(f"{'':<9} {more}" for more in wrapped[1:])]
    if r.cells:
        lines += ["", "cells (each has to occur, and without the faults that it needs it must not):"]
        for c in r.cells:
            needs = ", ".join(c.needs) or "nothing"
            lines.append(f"  {c.id:<20} {c.text}; needs {needs}; rung {c.rung}; judged on {', '.join(c.evidence)}")
    served = [o.id for o in spec.requirements.values() if o.same_as == r.id]
    if served:
        lines += ["", f"its test also serves {', '.join(served)}"]
    return "\n".join(lines)
