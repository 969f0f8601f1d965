"""The YAML files of a specification, validated, with the place of everything."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from statemachines import layout
from statemachines.accept import Check, compile_schema
from statemachines.findings import Finding
from statemachines.source_map import Document, read


@dataclass(frozen=True, slots=True)
class Sources:
    """What one pass over the files found: the valid documents, every entry, every fault."""

    documents: dict[str, object]
    places: dict[str, Document]
    entries: tuple[layout.Entry, ...]
    findings: tuple[Finding, ...]

    @classmethod
    def read(cls, root: Path) -> Sources:
        """Read and validate all files below `root`. Its own schemas count, or this package's without any."""
        if not root.is_dir():
            message = "this folder does not exist"
            finding = Finding(str(root), 1, 1, "spec-missing", message, "name the folder of a specification")
            return cls({}, {}, (), (finding,))
        own = root / "schema"
        schemas = own if own.is_dir() else layout.own_root() / "schema"
        findings: list[Finding] = []
        places: dict[str, Document] = {}
        accepts: dict[str, Check] = {}
        for file, kind in layout.files(root):
            document, faults = read(root / file, file)
            findings += faults
            if document is None:
                continue
            if kind not in accepts:
                accepts[kind] = compile_schema(json.loads((schemas / f"{kind}.schema.json").read_bytes()))
            if accepts[kind](document.data):
                places[file] = document
            else:
                findings += _explain(document, schemas, kind)
        if not places and not findings:
            message = "this folder holds no part of a specification"
            findings.append(Finding(str(root), 1, 1, "spec-empty", message, "name another folder"))
        entries, twice = _unique(places)
        documents = {file: document.data for file, document in places.items()}
        return cls(documents, places, tuple(entries), tuple(sorted([*findings, *twice])))

    def finding(
        self, entry: layout.Entry, path: tuple[str | int, ...], rule: str, message: str, fix: str = ""
    ) -> Finding:
        """A finding at `path` inside an entry."""
        return self.places[entry.file].finding([*entry.path, *path], rule, message, fix)


def _explain(document: Document, schemas: Path, kind: str) -> list[Finding]:
    # Imported late: jsonschema is needed only when something is wrong.
    from statemachines import schema  # noqa: PLC0415

    return schema.check(document, schema.validator(schemas, kind))


def _unique(places: dict[str, Document]) -> tuple[list[layout.Entry], list[Finding]]:
    entries: list[layout.Entry] = []
    findings: list[Finding] = []
    first: dict[tuple[str, str], layout.Entry] = {}
    for file, document in places.items():
        for entry in layout.entries(file, document.data):
            seen = first.setdefault((entry.kind, entry.id), entry)
            if seen is entry:
                entries.append(entry)
                continue
            line, _ = places[seen.file].at([*seen.path, "id"])
            message = f"the {entry.kind} '{entry.id}' stands already in {seen.file}, line {line}"
            path = [*entry.path, "id"]
            findings.append(document.finding(path, "spec-duplicate-id", message, "give it another id"))
    return entries, findings
