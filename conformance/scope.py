"""What a run is about: the options, the families and requirements that they choose, and what the record says first."""

from __future__ import annotations

import datetime
import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.baseline import Entry
from conformance.carriers.subprocess import DEADLINE_MS
from conformance.checkers.base import Checker
from conformance.drivers import Identity
from conformance.excerpt import lifecycles, tables
from conformance.families import FAMILIES
from conformance.families.base import Family
from conformance.outcome import Outcome
from conformance.records import FORMAT
from conformance.verdict import JudgedRequirement
from statemachines.spec import Spec


class UsageError(Exception):
    """The options do not fit together or name something that does not exist (exit code 2)."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to run: see ``onceproof run --help``.

    ``schedules`` grows the random walks until there are so many. ``env`` is the environment of driver processes; None
    means ours.
    """

    driver: str = "reference"
    profiles: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    budget: str = "ci"
    seed: int = 0
    jobs: int = 1
    out: Path = Path("runs/latest")
    baseline: Path | None = None
    deadline_ms: int = DEADLINE_MS
    env: Mapping[str, str] | None = None
    schedules: int = 0


def schedule_record(outcome: Outcome, judged: set[str]) -> dict[str, Any]:
    """The record of one schedule, as far as the judged requirements are concerned."""
    return {
        "id": outcome.schedule,
        "met": {r: dict(cells) for r, cells in outcome.met.items() if r in judged},
        "faults": dict(outcome.faults),
        "missed": list(outcome.missed),
        "named": [r for r in outcome.named if r in judged],
        "problem": outcome.problem,
        "blame": outcome.blame,
        "gaps": list(outcome.gaps),
        "tables": {table: dict(rows) for table, rows in outcome.tables.items()},
        "looks": outcome.moves.looks,
        "transitions": {entity: dict(counts) for entity, counts in outcome.moves.counts.items()},
    }


def judged_requirements(
    spec: Spec, families: Iterable[Family], only: Iterable[str], profiles: Iterable[str] = ()
) -> list[JudgedRequirement]:
    """The live requirements that these families' checkers judge; raises UsageError for an id that none does.

    ``profiles`` narrow them to the groups of those profiles; a family's own name stands for all that it judges.
    """
    families = list(families)
    ids = {c.requirement for family in families for c in family.checkers}
    wanted = set(only)
    for unknown in sorted(wanted - ids):
        known = spec.requirements.get(unknown)
        if known is None:
            why = "no requirement has this id"
        elif known.status == "live":
            why = "it belongs to a family that this run leaves out"
        else:
            why = f"it is {known.status}, not live"
        raise UsageError(f"--only {unknown}: {why}; `onceproof list` shows what is live")
    chosen = [r for r in spec.requirements.values() if r.id in ids and (not wanted or r.id in wanted)]
    profiles = tuple(profiles)
    if profiles and not wanted:
        groups = _groups(spec, profiles)
        whole = {c.requirement for family in families if family.id in profiles for c in family.checkers}
        chosen = [r for r in chosen if r.profile in groups or r.id in whole]
    return [
        JudgedRequirement.from_json(
            {
                "id": r.id,
                "profile": r.profile,
                "level": r.level,
                "core": r.core,
                "statement": r.statement,
                "where": r.where,
                "source": r.source,
                "cells": [{"id": c.id, "text": c.text, "rung": c.rung, "needs": c.needs} for c in r.cells],
            }
        )
        for r in chosen
    ]


def select(options: Options, identity: Identity, spec: Spec) -> list[Family]:
    """The families that the options choose of what a driver offers; raises UsageError if none."""
    known = {*FAMILIES, *spec.profiles}
    for profile in options.profiles:
        if profile not in known:
            raise UsageError(f"--profile {profile}: there is no such profile; known are {', '.join(sorted(known))}")
    served = [f for f in FAMILIES.values() if f.id in identity.families]
    groups = _groups(spec, options.profiles)
    chosen = [f for f in served if f.id in options.profiles or any(_group(spec, c) in groups for c in f.checkers)]
    wanted = set(options.profiles) or set(FAMILIES)
    if options.only:
        # A family that has nothing to say about what was asked is not run; an unknown id is refused later.
        chosen = [f for f in chosen if any(id_ in f.checkers for id_ in options.only)] or chosen
    if options.scenarios:
        chosen = narrowed(chosen, options.scenarios)
    if not chosen:
        offered = ", ".join(identity.families) or "nothing"
        raise UsageError(f"nothing to run: {options.driver} offers {offered}, asked for is {', '.join(sorted(wanted))}")
    return chosen


def _groups(spec: Spec, profiles: Iterable[str]) -> set[str]:
    """The groups of requirements that profiles are made of; all of them where no profile is named."""
    named = [spec.profiles[p] for p in profiles if p in spec.profiles] if profiles else spec.profiles.values()
    return {group for profile in named for group in profile.groups}


def _group(spec: Spec, checker: Checker) -> str:
    found = spec.requirements.get(checker.requirement)
    return found.profile if found is not None else ""


def narrowed(families: Iterable[Family], patterns: Iterable[str]) -> list[Family]:
    """The families with only the scenarios that match a shell pattern; raises UsageError for one that matches none."""
    whole = list(families)
    names = [s.id for family in whole for s in family.scenarios]
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise UsageError(f"--scenario {pattern}: no scenario matches; there are {', '.join(names)}")
    kept = [
        replace(family, scenarios=tuple(s for s in family.scenarios if any(fnmatch.fnmatch(s.id, p) for p in patterns)))
        for family in whole
    ]
    return [family for family in kept if family.scenarios]


def header(
    options: Options,
    identity: Identity,
    spec: Spec,
    judged: Sequence[JudgedRequirement],
    families: Sequence[Family],
    excused: Iterable[Entry],
) -> Mapping[str, Any]:
    """The members of the record's header."""
    served, chosen = {f.id for f in families}, list(judged)
    planned = sum(r.status == "planned" for r in spec.requirements.values())
    return {
        "format": FORMAT,
        "suite": "onceproof 0.1.0",
        "spec": spec.digest,
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "driver": options.driver,
        "identity": identity.to_json(),
        "families": sorted(served),
        "budget": options.budget,
        "seed": options.seed,
        "only": list(options.only),
        "scenarios": list(options.scenarios),
        # A family that the driver offers and this suite does not judge is no choice of the user.
        "filtered": bool(options.only or options.scenarios)
        or not FAMILIES.keys() & set(identity.families) <= served
        or len(judged) < len(judged_requirements(spec, families, ())),
        "obligations": len(spec.requirements),
        "planned": planned,
        "unreachable": unreachable(spec, identity.readings),
        "baseline": [entry.to_json() for entry in excused],
        "requirements": [_requirement_json(r) for r in chosen],
        "lifecycles": lifecycles(spec, sorted(served)),
        "tables": tables(spec, sorted(served), {r.source for r in chosen}),
    }


def unreachable(spec: Spec, readings: Mapping[str, str]) -> list[str]:
    """The cells that the declared readings rule out, as ``ID/cell``; raises UsageError for an unknown reading."""
    found: list[str] = []
    for about, reading in readings.items():
        entry = spec.interpretations.get(about)
        match = next((r for r in entry.readings if r.id == reading), None) if entry else None
        if match is None:
            raise UsageError(
                f"the driver declares the reading {about}: {reading}, which the specification does not know"
            )
        if match.status == "rejected":
            raise UsageError(f"the driver declares the reading {about}: {reading}, which the specification rejects")
        found.extend(getattr(match, "unreachable", ()))
    return found


def _requirement_json(r: JudgedRequirement) -> dict[str, Any]:
    return {
        "id": r.id,
        "profile": r.profile,
        "level": r.level,
        "core": r.core,
        "statement": r.statement,
        "where": r.where,
        "source": r.source,
        "cells": [{"id": c.id, "text": c.text, "rung": c.rung, "needs": list(c.needs)} for c in r.cells],
    }
