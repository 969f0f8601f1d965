"""Faults that really happened (``spec/field.yaml``): each with the planting that realises it, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from statemachines import layout
from statemachines.findings import Finding, SpecError

FILE: Final = "field.yaml"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of the field.

    ``about`` is the fault in the project's words, ``seen`` the public thread that tells of it, ``requirements`` the ids
    that speak of it. Either ``deviation`` names a planting of the reference, or ``reason`` says why none fits.
    """

    id: str
    about: str
    seen: str | None
    requirements: tuple[str, ...]
    deviation: str | None
    reason: str | None


def field_faults(root: Path | None = None) -> tuple[Fault, ...]:
    """All faults, in the order of the file. Raises SpecError: all breaches of the schema and each id used twice."""
    # Imported late: they need libraries that a program that only judges does without.
    from statemachines import schema, source_map  # noqa: PLC0415

    place = root or layout.default_root()
    document, found = source_map.read(place / FILE, FILE)
    findings: list[Finding] = list(found)
    if document is not None:
        findings += schema.check(document, schema.validator(place / "schema", "field"))
    if document is None or findings:
        raise SpecError(tuple(findings))
    assert isinstance(document.data, dict)
    entries: list[Mapping[str, Any]] = document.data["entries"]
    first: set[str] = set()
    for index, entry in enumerate(entries):
        if entry["id"] in first:
            message = f"the fault '{entry['id']}' has an entry already"
            findings.append(
                document.finding(["entries", index, "id"], "spec-duplicate-id", message, "keep one of them")
            )
        first.add(entry["id"])
    if findings:
        raise SpecError(tuple(findings))
    return tuple(_fault(entry) for entry in entries)


def _fault(entry: Mapping[str, Any]) -> Fault:
    return Fault(
        entry["id"],
        entry["class"],
        entry.get("seen"),
        tuple(entry["requirements"]),
        entry.get("deviation"),
        entry.get("reason"),
    )
