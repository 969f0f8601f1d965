"""Whatever an author does to a specification, the answer is a list of findings, never a crash."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from statemachines.lint import lint
from statemachines.spec import SpecError, load
from tests.spec.tiny import TINY

ODD = [
    None,
    True,
    0,
    7,
    1.5,
    "",
    "x",
    "letter.post",
    "AAA-001",
    "written",
    [],
    ["x"],
    [None, 1],
    {},
    {"not": "x"},
]


def paths(data: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield here
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from paths(value, (*here, key))


def judge(files: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tiny"
        for file, text in files.items():
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text, encoding="utf-8")
        findings = lint(root)
        assert all(f.line >= 1 and f.column >= 1 and f.message and f.rule for f in findings)
        refused = any(f.rule.startswith(("yaml-", "schema-", "spec-")) for f in findings)
        if refused:
            with pytest.raises(SpecError):
                load(root)
        else:
            assert load(root).digest


@given(seed=st.data())
@settings(max_examples=80, deadline=None, derandomize=True, database=None)
def test_values_that_are_swapped_removed_or_repeated(seed: st.DataObject) -> None:
    files = dict(TINY)
    file = seed.draw(st.sampled_from(sorted(files)))
    data = yaml.load(files[file], Loader=yaml.BaseLoader) if seed.draw(st.booleans()) else yaml.safe_load(files[file])
    places = [path for path in paths(data) if path]
    for _ in range(seed.draw(st.integers(1, 3))):
        path = seed.draw(st.sampled_from(places))
        parent = data
        try:
            for part in path[:-1]:
                parent = parent[part]
            action = seed.draw(st.sampled_from(["odd", "remove", "repeat", "borrow"]))
            if action == "remove":
                del parent[path[-1]]
            elif action == "repeat" and isinstance(parent, list):
                parent.append(copy.deepcopy(parent[path[-1]]))
            elif action == "borrow":
                other: Any = data
                for part in seed.draw(st.sampled_from(places)):
                    other = other[part]
                parent[path[-1]] = copy.deepcopy(other)
            else:
                parent[path[-1]] = copy.deepcopy(seed.draw(st.sampled_from(ODD)))
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took this place away
    files[file] = yaml.safe_dump(data, sort_keys=False)
    judge(files)


@given(seed=st.data())
@settings(max_examples=80, deadline=None, derandomize=True, database=None)
def test_text_that_is_cut_or_spoiled(seed: st.DataObject) -> None:
    files = dict(TINY)
    file = seed.draw(st.sampled_from(sorted(files)))
    text = files[file]
    start = seed.draw(st.integers(0, len(text) - 1))
    cut = seed.draw(st.integers(0, 20))
    insert = seed.draw(
        st.sampled_from(
            ["", "\n", ": ", "- ", "{", "}", "[", "]", "'", '"', "&a ", "*a", "\t", "#", "\x00", "!t ", "é"]
        )
    )
    files[file] = text[:start] + insert + text[start + cut :]
    judge(files)
