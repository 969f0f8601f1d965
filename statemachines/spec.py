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
from statemachines.commands import CommandFamily
from statemachines.findings import Finding, SpecError
from statemachines.model import Interpretation, Lifecycle, Procedure, Profile, Requirement, Table

__all__ = ["Finding", "Spec", "SpecError", "compile_to", "from_documents", "load"]

_CACHE: dict[Path, Spec] = {}


@dataclass(frozen=True, slots=True)
class Spec:
    """The whole specification: read-only mappings by id.

    `commands` holds what drivers are asked, by family. `limits` maps the id of each limit to its value in the
    unit that the table names. `digest` is a SHA-256 over the content, the same for every order and formatting
    of the files.
    """

    lifecycles: Mapping[str, Lifecycle]
    procedures: Mapping[str, Procedure]
    tables: Mapping[str, Table]
    requirements: Mapping[str, Requirement]
    interpretations: Mapping[str, Interpretation]
    profiles: Mapping[str, Profile]
    commands: Mapping[str, CommandFamily]
    limits: Mapping[str, int]
    digest: str


def load(root: Path | None = None) -> Spec:
    """The specification below `root`, read once per folder.

    Without `root`: the folder that the environment variable ONCEPROOF_SPEC names, else the checkout's
    `spec/`, else the copy inside the installed package. Raises SpecError with every fault that one pass
    finds.
    """
    asked = root or layout.default_root()
    # Every simulated process asks again: a path that was met before is not resolved once more.
    if asked in _CACHE and asked.is_absolute():
        return _CACHE[asked]
    place = asked.resolve()
    if place not in _CACHE:
        _CACHE[place] = _load(place)
    return _CACHE[place]


def _load(root: Path) -> Spec:
    content = compiled.read(root)
    if content is None:
        content, made_from = _read_yaml(root)
        compiled.cache(root, content, made_from)
    return from_documents(content.documents, content.digest)


def compile_to(place: Path, root: Path | None = None) -> None:
    """Read the YAML below `root` (as in `load`) and write its compiled form to `place`.

    Raises SpecError for a specification with faults, and OSError when `place` cannot be written.
    """
    content, made_from = _read_yaml((root or layout.default_root()).resolve())
    compiled.write(place, content, made_from)


def _read_yaml(root: Path) -> tuple[compiled.Compiled, str]:
    # Imported late: it needs yaml, which a compiled specification does not.
    from statemachines.sources import Sources  # noqa: PLC0415

    # The stamp comes first: a file that changes while we read leaves a stale form, never a wrong one.
    made_from = compiled.stamp(root) if root.is_dir() else ""
    sources = Sources.read(root)
    if sources.findings:
        raise SpecError(sources.findings)
    return compiled.Compiled(sources.documents, from_documents(sources.documents).digest), made_from


def from_documents(documents: Mapping[str, object], digest: str | None = None) -> Spec:
    """Build a specification from the plain, valid data of its files, keyed by relative path.

    `digest` spares computing it where it is known already.
    """
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
        commands=MappingProxyType(found["command"]),
        limits=MappingProxyType({row.id: row.then["value"] for row in limits.rows} if limits else {}),
        digest=digest or _digest(entries),
    )


def _digest(entries: Iterable[layout.Entry]) -> str:
    content: dict[str, dict[str, object]] = {}
    for entry in entries:
        content.setdefault(entry.kind, {})[entry.id] = [entry.source, entry.data]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
