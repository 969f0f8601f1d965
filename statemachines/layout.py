"""Where things stand in a specification folder, and what one file contributes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ENVIRONMENT = "ONCEPROOF_SPEC"

# Folder (or file) of the specification -> the schema of the files in it.
FOLDERS: Mapping[str, str] = {
    "lifecycles": "lifecycle",
    "procedures": "procedure",
    "tables": "table",
    "requirements": "requirement",
    "interpretations": "interpretation",
    "profiles": "profile",
    "commands": "command",
}
INTERPRETATIONS = "interpretations.yaml"


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing with an id: where it stands (`file`, `path` in it) and its plain data."""

    kind: str
    id: str
    file: str
    path: tuple[str | int, ...]
    data: Mapping[str, object]
    source: str


def default_root() -> Path:
    """The folder that the environment names, else the checkout's `spec/`, else the installed copy."""
    override = os.environ.get(ENVIRONMENT)
    return Path(override) if override else own_root()


@cache
def own_root() -> Path:
    """The specification that this package was built with, whatever the environment says."""
    package = Path(__file__).resolve().parent
    checkout = package.parent / "spec"
    return checkout if (checkout / "schema").is_dir() else package / "_spec"


def files(root: Path) -> list[tuple[str, str]]:
    """(path relative to the root, schema name) of each data file, in a fixed order."""
    found = [
        (f"{folder}/{entry.name}", schema)
        for folder, schema in FOLDERS.items()
        if (root / folder).is_dir()
        for entry in os.scandir(root / folder)
        if entry.name.endswith(".yaml") and not entry.name.startswith(".")
    ]
    if (root / INTERPRETATIONS).exists():
        found.append((INTERPRETATIONS, "interpretation"))
    return sorted(found)


def schema_of(file: str) -> str:
    """The schema name for a path relative to the root."""
    return "interpretation" if file == INTERPRETATIONS else FOLDERS[file.partition("/")[0]]


def entries(file: str, data: object) -> Iterator[Entry]:
    """What one valid file contributes."""
    kind = schema_of(file)
    if kind == "interpretation":
        assert isinstance(data, list)
        for index, item in enumerate(data):
            yield Entry(kind, item["id"], file, (index,), item, item["source"])
        return
    assert isinstance(data, dict)
    source = data.get("source", "")
    inner = {"procedure": "procedures", "requirement": "requirements"}.get(kind)
    if inner is None:
        yield Entry(kind, data["id"], file, (), data, source)
        return
    for index, item in enumerate(data[inner]):
        yield Entry(kind, item["id"], file, (inner, index), item, source)
