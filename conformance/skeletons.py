"""The driver skeletons that ``onceproof init`` writes: each family may bring one for each language."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance import families

#: language -> (how its driver is started, the driver's file)
LANGUAGES: Final = {"python": ("python3", "driver.py"), "node": ("node", "driver.js")}
_README: Final = "README.md"


class CannotWrite(Exception):
    """Nothing was written; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The files of one skeleton, by name."""

    family: str
    language: str
    files: dict[str, str]


def offered(language: str) -> Iterator[str]:
    """The families that bring a skeleton in this language."""
    return (family for family in families.FAMILIES if (_folder(family) / language).is_dir())


def skeleton(family: str, language: str) -> Skeleton:
    """The skeleton of a family in a language, with a page that names the commands to type in its folder."""
    root = _folder(family)
    driver = LANGUAGES[language][1]
    page = (root / _README).read_text(encoding="utf-8")
    page = page.replace("@DRIVER@", driver).replace("@COMMAND@", command(language, Path()))
    text = (root / language / driver).read_text(encoding="utf-8")
    return Skeleton(family, language, {driver: text, _README: page})


def command(language: str, folder: Path) -> str:
    """How the driver in this folder is started."""
    interpreter, driver = LANGUAGES[language]
    return shlex.join([interpreter, str(folder / driver)])


def quoted(words: str) -> str:
    """A command line as the one argument of an option."""
    return json.dumps(words, ensure_ascii=False)


def write(chosen: Skeleton, folder: Path) -> list[Path]:
    """Write the files into a folder, which is made where it is missing, and return them.

    Raises CannotWrite before anything is written when one of them is there, and OSError as the machine does.
    """
    for name in chosen.files:
        if (folder / name).exists() or (folder / name).is_symlink():
            raise CannotWrite(f"{folder / name} exists, and nothing is overwritten; give another folder")
    if folder.exists() and not folder.is_dir():
        raise CannotWrite(f"{folder} is no folder; give another name")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, text in chosen.files.items():
        with (folder / name).open("x", encoding="utf-8") as file:
            file.write(text)
        written.append(folder / name)
    return written


def _folder(family: str) -> Path:
    return Path(families.__file__).parent / family.replace("-", "_") / "skeleton"
