"""``onceproof list``: every obligation with its status."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import Any

from conformance.cli.common import Subparsers, refuse
from statemachines.spec import load


def add_parser(subparsers: Subparsers) -> None:
    """Mount the command."""
    parser = subparsers.add_parser("list", help="what is specified, and what of it is live")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--status", choices=("live", "planned", "not-testable", "same-as"))
    parser.add_argument("--profile", help="only this profile, or this group of one")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the list; exit 0, or 2 for a profile that does not exist."""
    spec = load()
    groups = set(spec.profiles[args.profile].groups) if args.profile in spec.profiles else {args.profile}
    known = sorted({*spec.profiles, *(r.profile for r in spec.requirements.values())})
    if args.profile is not None and args.profile not in known:
        return refuse(f"--profile {args.profile}: there is no such profile; known are {', '.join(known)}")
    entries = [
        e
        for e in map(entry, spec.requirements.values())
        if (args.status is None or e["status"] == args.status) and (args.profile is None or e["profile"] in groups)
    ]
    if args.format == "json":
        print(json.dumps(entries, indent=1, ensure_ascii=False))
        return 0
    for e in entries:
        print(f"{e['id']:<12} {e['status']:<13} {e['level']:<10} {e['profile']:<24} {e['statement']}")
    counts = Counter(e["status"] for e in entries)
    print(f"{len(entries)} obligations: " + ", ".join(f"{n} {status}" for status, n in sorted(counts.items())))
    return 0


def entry(requirement: Any) -> dict[str, Any]:
    """One obligation as programs read it."""
    r = requirement
    needs = sorted({need for cell in r.cells for need in cell.needs} or set(r.faults))
    return {
        "id": r.id,
        "profile": r.profile,
        "level": r.level,
        "core": r.core,
        "observable": r.observable,
        "status": r.status,
        "same_as": r.same_as,
        "needs": needs,
        "cells": [
            {"id": c.id, "text": c.text, "needs": list(c.needs), "rung": c.rung, "evidence": list(c.evidence)}
            for c in r.cells
        ],
        "source": {"document": r.source, "where": r.where},
        "statement": r.statement,
    }
