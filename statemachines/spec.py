"""Load the specification.

`load()` reads the compiled form if it is up to date, and the YAML otherwise; both give equal values. The
libraries that read YAML are imported only when they are needed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from statemachines import assemble, compiled, layout
from statemachines.findings import Finding, SpecError
from statemachines.model import Interpretation, Lifecycle, Procedure, Profile, Requirement, Table

__all__ = ["Finding", "Spec", "SpecError", "from_documents", "load"]

_CACHE: dict[Path, Spec] = {}


@dataclass(frozen=True, slots=True)
class Spec:
    """The whole specification: read-only mappings by id.

    `limits` maps the id of each limit to its value in the unit that the table names. `digest` is a SHA-256
    over the content, the same for every order and formatting of the files.
    """

    lifecycles: Mapping[str, Lifecycle]
    procedures: Mapping[str, Procedure]
    tables: Mapping[str, Table]
    requirements: Mapping[str, Requirement]
    interpretations: Mapping[str, Interpretation]
    profiles: Mapping[str, Profile]
    limits: Mapping[str, int]
    digest: str


def load(root: Path | None = None) -> Spec:
    """The specification below `root`, read once per folder.

    Without `root`: the folder that the environment variable ONCEPROOF_SPEC names, else the checkout's
    `spec/`, else the copy inside the installed package. Raises SpecError with every fault that one pass
    finds.
    """
    place = (root or layout.default_root()).resolve()
    if place not in _CACHE:
        _CACHE[place] = _load(place)
    return _CACHE[place]


def _load(root: Path) -> Spec:
    documents = compiled.read(root)
    if documents is None:
        # Imported late: it needs yaml and jsonschema, which a compiled specification does not.
        from statemachines.sources import Sources  # noqa: PLC0415

        made_from = compiled.stamp(root)
        sources = Sources.read(root)
        if sources.findings:
            raise SpecError(sources.findings)
        documents = sources.documents
        compiled.cache(root, documents, made_from)
    return from_documents(documents)


def from_documents(documents: Mapping[str, object]) -> Spec:
    """Build a specification from the plain, valid data of its files, keyed by relative path."""
    entries = [entry for file in sorted(documents) for entry in layout.entries(file, documents[file])]
    found = assemble.build(entries)
    limits = found["table"].get("limits")
    return Spec(
        lifecycles=MappingProxyType(found["lifecycle"]),
        procedures=MappingProxyType(found["procedure"]),
        tables=MappingProxyType(found["table"]),
        requirements=MappingProxyType(found["requirement"]),
        interpretations=MappingProxyType(found["interpretation"]),
        profiles=MappingProxyType(found["profile"]),
        limits=MappingProxyType({row.id: row.then["value"] for row in limits.rows} if limits else {}),
        digest=_digest(entries),
    )


def _digest(entries: Iterable[layout.Entry]) -> str:
    content: dict[str, dict[str, object]] = {}
    for entry in entries:
        content.setdefault(entry.kind, {})[entry.id] = [entry.source, entry.data]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
