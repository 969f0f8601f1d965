"""The published JSON Schemas of what the suite reads and writes (spec/schema), and checks of a value against them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from statemachines.layout import own_root

#: What the suite says, hears and writes: the names of their schemas.
PUBLISHED: Final = ("message", "event", "trace", "run-record", "report")


@cache
def schema(name: str) -> Mapping[str, Any]:
    """A schema of spec/schema by its name without ``.schema.json``; raises OSError for one that does not exist."""
    path = own_root() / "schema" / f"{name}.schema.json"
    loaded: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def part(name: str, definition: str) -> Mapping[str, Any]:
    """One definition of a schema as a schema that stands alone."""
    whole = schema(name)
    return {**whole["$defs"][definition], "$defs": whole["$defs"]}


def problems(name: str, value: object, definition: str = "") -> list[str]:
    """What is wrong with a value by a published schema, or by one definition of it; empty if nothing. Slow."""
    # Imported late: only tools and tests explain.
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from referencing import Registry, Resource  # noqa: PLC0415

    found = Registry().with_resources(
        [(f"{schema(other)['$id']}", Resource.from_contents(schema(other))) for other in PUBLISHED]
    )
    wanted = {**part(name, definition), "$id": schema(name)["$id"]} if definition else schema(name)
    validator = Draft202012Validator(wanted, registry=found)
    return [f"{'/'.join(map(str, e.absolute_path)) or '.'}: {e.message[:200]}" for e in validator.iter_errors(value)]
