"""Which rows of the table of invocation modes a history exercised: the mode of each route whose row was claimed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from conformance.checkers.settle.index import Index
from statemachines.spec import load

_TABLE: Final = "invocation_modes"


def exercised(index: Index) -> Iterator[str]:
    """``table/row`` for every claim that selected a head, by the rows after it."""
    for command in index.commands:
        if command.cmd != "lane.claim" or command.outcome != "done":
            continue
        event = index.result_view(command).events.get(command.result.get("event", 0))
        if event is not None and event.lane[0] in index.modes:
            yield f"{_TABLE}/{index.modes[event.lane[0]]}"


@cache
def expected() -> Mapping[str, tuple[str, ...]]:
    """The table with all its rows: a run has to meet each mode."""
    return {_TABLE: tuple(row.id for row in load().tables[_TABLE].rows)}
