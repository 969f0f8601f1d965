"""Generated validators say what jsonschema says, for our own schemas and for values that were changed at random."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from statemachines.accept import UnknownKeyword
from statemachines.generate import generate
from statemachines.spec import load

SPEC = load()
HOST = SPEC.commands["mutation-host"]
ROW = {
    "attempt": "a",
    "request_id": "q",
    "operation": None,
    "connection": None,
    "caller": "x",
    "key": None,
    "approval": None,
    "approval_reference": None,
}
SEEN = {"classification": "unknown", "attempt": {"instance": "h", "id": "a"}, "original_request_id": None}
GOOD: dict[str, tuple[Mapping[str, Any], Any]] = {
    "snapshot": (
        HOST.snapshot(SPEC.lifecycles),
        {
            "source": "store",
            "kinds": {
                "attempts": [
                    {**ROW, "state": "Prepared", "settled_at": 7},
                    {**ROW, "state": "Failed", "settled_at": None},
                ],
                "status_log": [
                    {"seq": 1, "entity": "mutation_attempt", "id": "a", "from_state": None, "to_state": "Prepared"}
                ],
            },
        },
    ),
    "invoke": (
        HOST.closed(HOST.commands["host.invoke"].result),
        {
            "version": "v1alpha2",
            "request_id": "q",
            "status": "error",
            "error": {"code": "outcome_unknown", "retry_after_seconds": 3},
            "mutation": {**SEEN, "replayed": False, "cause": None},
        },
    ),
    "args": (
        HOST.closed(HOST.commands["host.invoke"].args),
        {
            "context": {"caller": "a", "tenant": None, "realm": "r", "executor": None},
            "request": {
                "version": "v1alpha2",
                "request_id": "q",
                "operation": "o",
                "connection": "c",
                "revision": "r",
                "input": {"marker": "m", "n": 1.5},
            },
        },
    ),
}
OTHERS: tuple[Any, ...] = (None, True, 0, 1, 1.0, -2.5, "", "Prepared", "store", [], {}, [1], {"id": "x"})


def changed(value: Any, chance: random.Random) -> Any:
    """A copy with one to three members replaced, removed or added, at any depth."""
    root = {"": copy.deepcopy(value)}
    for _ in range(chance.randint(1, 3)):
        places = list(_places(root))
        holder, key = chance.choice(places)
        what = chance.randrange(4)
        if what == 0 and (holder is not root or isinstance(holder, list)):
            del holder[key]
        elif what == 1 and isinstance(holder, dict) and holder is not root:
            holder["colour"] = chance.choice(OTHERS)
        else:
            holder[key] = copy.deepcopy(chance.choice(OTHERS))
    return root[""]


def _places(holder: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
        yield holder, key
        if isinstance(holder[key], dict | list):
            yield from _places(holder[key])


@pytest.mark.parametrize("name", GOOD)
def test_generated_code_and_jsonschema_agree(name: str) -> None:
    schema, value = GOOD[name]
    check, oracle, chance = generate(schema), Draft202012Validator(dict(schema)), random.Random(name)
    assert check(value)
    seen = set()
    for _ in range(600):
        other = changed(value, chance)
        seen.add(wanted := oracle.is_valid(other))
        assert check(other) == wanted, other
    assert seen == {True, False}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["integer", "null"]},
        {"enum": ["a", None, 1]},
        {"enum": ["a", None]},
        {"const": True},
        {"properties": {"a": {"type": "string"}}, "required": ["b"]},
        {"type": "object", "properties": {"a": True, "b": False}, "additionalProperties": {"type": "integer"}},
        {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "number"}},
        {"items": {"type": "string"}},
        {"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}},
    ],
)
def test_small_schemas_agree_on_every_kind_of_value(schema: dict[str, Any]) -> None:
    check, oracle = generate(schema), Draft202012Validator(schema)
    values = [*OTHERS, [[]], [[], [[1]]], {"a": "x", "b": 2}, {"a": 1}, {"b": 1, "c": 3}, {"c": "x"}, [1, 1], ["a"]]
    for value in values:
        assert check(value) == oracle.is_valid(value), value


def test_a_keyword_outside_the_subset_is_refused() -> None:
    for schema in ({"maxLength": 3}, {"$ref": "#/$defs/nothing"}, {"type": "object", "patternProperties": {}}):
        with pytest.raises(UnknownKeyword):
            generate(schema)
