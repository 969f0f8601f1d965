"""Durable rows as the specification describes them: which kinds follow a lifecycle, and where their rows stand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from statemachines.spec import load


@cache
def living(family: str) -> tuple[tuple[str, str, str], ...]:
    """(kind, its column of ids, lifecycle) for every kind of row of a family whose state follows one lifecycle."""
    commands = load().commands.get(family)
    return tuple(
        (kind.kind, kind.key[0], column.of[0])
        for kind in (commands.rows.values() if commands else ())
        for column in kind.columns
        if column.name == "state" and column.type == "state" and len(column.of) == 1
    )


def states_of(family: str, kinds: Mapping[str, Any]) -> dict[tuple[str, str], str | None]:
    """(lifecycle, id) -> state in one snapshot: what a driver without a status log is known by."""
    return {(entity, row[key]): row.get("state") for kind, key, entity in living(family) for row in kinds.get(kind, ())}
