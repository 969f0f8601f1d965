"""The compiled form: equal to the YAML, stale as soon as a file changes, and light to load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from statemachines import compiled, layout
from statemachines.sources import Sources
from statemachines.spec import SpecError, _load, compile_to, from_documents

Write = Callable[..., Path]


def compile_here(root: Path) -> None:
    compile_to(root / compiled.NAME, root)


def test_it_gives_the_same_specification(write: Write) -> None:
    root = write()
    fresh = _load(root)
    assert compiled.read(root) is None
    compile_here(root)
    assert compiled.read(root) is not None
    assert _load(root) == fresh


def test_the_real_one_survives_json() -> None:
    documents = Sources.read(layout.default_root()).documents
    assert from_documents(json.loads(json.dumps(documents))) == from_documents(documents)


@pytest.mark.parametrize("how", ["changed", "added", "removed", "renamed"])
def test_any_change_of_the_files_makes_it_stale(write: Write, how: str) -> None:
    root = write()
    compile_here(root)
    file = root / "tables/limits.yaml"
    if how == "changed":
        file.write_text(file.read_text().replace("20", "21"))
    elif how == "added":
        (root / "tables/more.yaml").write_text("id: more\nkind: heap\n")
    elif how == "removed":
        file.unlink()
    else:
        file.rename(root / "tables/bounds.yaml")
    assert compiled.read(root) is None
    if how == "added":
        with pytest.raises(SpecError):
            _load(root)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"stamp": "x"}'])
def test_a_damaged_one_is_passed_over(write: Write, content: str) -> None:
    root = write()
    (root / compiled.NAME).write_text(content)
    assert set(_load(root).lifecycles) == {"letter", "stamp"}


def test_a_checkout_keeps_it_in_build(write: Write, tmp_path: Path) -> None:
    root = write().rename(tmp_path / "spec")
    assert not (tmp_path / "build").exists()
    (tmp_path / "pyproject.toml").touch()
    fresh = _load(root)
    assert (tmp_path / "build" / compiled.NAME).is_file()
    assert _load(root) == fresh


def test_a_folder_that_cannot_be_written_is_no_fault(write: Write, tmp_path: Path) -> None:
    root = write().rename(tmp_path / "spec")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "build").write_text("in the way")
    assert _load(root).limits == {"weight_g": 20}


def test_loading_it_imports_no_heavy_library(write: Write) -> None:
    root = write()
    compile_here(root)
    code = (
        "import sys; from statemachines.spec import load; load()\n"
        "heavy = ('yaml', 'jsonschema', 'transitions', 'networkx', 'hypothesis')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    environment = {
        **os.environ,
        layout.ENVIRONMENT: str(root),
        "PYTHONPATH": str(Path(layout.__file__).parents[1]),
    }
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
