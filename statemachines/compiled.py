"""The specification compiled to one JSON file, for a fast start and for the wheel.

It holds the plain data of every file after validation, and a hash of the bytes it was made from; a file that
changed, came or went makes it stale.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from statemachines import layout
from statemachines.files import read_bytes

FORMAT = 3
NAME = "spec.json"


def places(root: Path) -> list[Path]:
    """Where a compiled form may lie: beside the data (the wheel), or in the checkout's build/."""
    found = [root / NAME]
    if root.name == "spec" and (root.parent / "pyproject.toml").is_file():
        found.append(root.parent / "build" / NAME)
    return found


def stamp(root: Path) -> str:
    """A hash over the names and bytes of all files that count, the schemas included."""
    digest = hashlib.sha256(f"format {FORMAT}\n".encode())
    schemas = sorted(f"schema/{path.name}" for path in (root / "schema").glob("*.schema.json"))
    for name in [file for file, _ in layout.files(root)] + schemas:
        content = read_bytes(root / name)
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a compiled form holds: the plain data of each file, and the digest of the whole."""

    documents: Mapping[str, object]
    digest: str


def read(root: Path) -> Compiled | None:
    """The compiled form of this root, or None when there is none that matches the files."""
    wanted = None
    for place in places(root):
        try:
            content = json.loads(place.read_bytes())
            wanted = wanted or stamp(root)
        except (OSError, ValueError):
            continue
        if isinstance(content, dict) and content.get("stamp") == wanted:
            return Compiled(content["documents"], content["digest"])
    return None


def write(place: Path, content: Compiled, made_from: str) -> None:
    """Write the compiled form to `place`; `made_from` is the `stamp` taken before the files were read.

    Raises OSError when the folder cannot be written.
    """
    members = {"stamp": made_from, "digest": content.digest, "documents": content.documents}
    text = json.dumps(members, ensure_ascii=False, separators=(",", ":"))
    place.parent.mkdir(parents=True, exist_ok=True)
    # Several processes may start at once: each writes its own file and renames it whole.
    handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=".spec-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(temporary).replace(place)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def cache(root: Path, content: Compiled, made_from: str) -> None:
    """Keep the compiled form in the checkout's build/; without one, or without permission, do nothing."""
    for place in places(root)[1:]:
        with contextlib.suppress(OSError):
            write(place, content, made_from)
