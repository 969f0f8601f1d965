"""The quick validator and jsonschema say the same about every document, sound or mutilated."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from statemachines.accept import UnknownKeyword, compile_schema
from statemachines.layout import FOLDERS, default_root, files
from statemachines.source_map import parse

ROOT = default_root()
SCHEMAS = {name: json.loads((ROOT / f"schema/{name}.schema.json").read_text()) for name in set(FOLDERS.values())}
QUICK = {name: compile_schema(schema) for name, schema in SCHEMAS.items()}
SLOW = {name: Draft202012Validator(schema) for name, schema in SCHEMAS.items()}


def small(kind: str) -> Any:
    """A real document of a kind, cut down to a few items so that many mutants can be judged."""
    file = next(file for file, schema in files(ROOT) if schema == kind and "precedence" not in file)
    document, _ = parse((ROOT / file).read_bytes(), file)
    assert document is not None
    data: Any = copy.deepcopy(document.data)
    if isinstance(data, list):
        return data[:3]
    return {key: value[:3] if isinstance(value, list) else value for key, value in data.items()}


SMALL = {kind: small(kind) for kind in sorted(SCHEMAS)}


def paths(data: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield here
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from paths(value, (*here, key))


ODD = [
    None,
    True,
    False,
    0,
    1,
    -1,
    1.0,
    1.5,
    "",
    "x",
    "a b",
    "Ünï",
    "MUT-001",
    [],
    [1, True],
    ["a", "a"],
    {},
    {"not": 1},
    {"x": None},
]


@pytest.mark.parametrize("kind", sorted(SCHEMAS))
@given(seed=st.data())
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
def test_both_validators_agree(kind: str, seed: st.DataObject) -> None:
    data = copy.deepcopy(SMALL[kind])
    for _ in range(seed.draw(st.integers(0, 2))):
        path = seed.draw(st.sampled_from(list(paths(data))))
        action = seed.draw(st.sampled_from(["replace", "remove", "add"]))
        if not path:
            continue
        parent = data
        for part in path[:-1]:
            parent = parent[part]
        if action == "remove":
            del parent[path[-1]]
        elif action == "replace" or not isinstance(parent, dict):
            parent[path[-1]] = copy.deepcopy(seed.draw(st.sampled_from(ODD)))
        else:
            parent[seed.draw(st.sampled_from(["extra", "note", "when", "1", "a b", ""]))] = seed.draw(
                st.sampled_from(ODD)
            )
    assert QUICK[kind](data) == SLOW[kind].is_valid(data)


@pytest.mark.parametrize("kind", sorted(SCHEMAS))
def test_sound_documents_are_accepted_and_the_schemas_are_schemas(kind: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[kind])
    assert QUICK[kind](SMALL[kind])
    assert not QUICK[kind]("text")


@pytest.mark.parametrize("kind", sorted(SCHEMAS))
def test_no_object_takes_unknown_members(kind: str) -> None:
    def closed(schema: Any) -> Iterator[Any]:
        if isinstance(schema, dict):
            if schema.get("type") == "object" and "properties" in schema:
                yield schema
            for value in schema.values():
                yield from closed(value)
        elif isinstance(schema, list):
            for value in schema:
                yield from closed(value)

    found = list(closed(SCHEMAS[kind]))
    assert all("additionalProperties" in schema for schema in found)
    assert found


def test_a_keyword_outside_the_subset_is_no_silent_pass() -> None:
    with pytest.raises(UnknownKeyword, match="maxLength"):
        compile_schema({"type": "string", "maxLength": 3})
    with pytest.raises(UnknownKeyword, match="leads out"):
        compile_schema({"$ref": "other.json"})
