"""Lanes from files: JSON in the shape of `tests/golden/golden_lanes.json`, or CSV with a header.

Columns (case and underscores do not matter): `id`, `enqueue_ordinal` or `ordinal`, `created_date` or
`created`, `delivery_sequence` or `sequence`. An empty ordinal means 0. Every complaint is one sentence that
names the row.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from statemachines import strict_json
from statemachines.lanes.instants import parse_instant
from statemachines.lanes.rows import Id, LaneError, Row

_COLUMNS = {
    "id": ("id",),
    "enqueue_ordinal": ("enqueueordinal", "ordinal"),
    "created_date": ("createddate", "created"),
    "delivery_sequence": ("deliverysequence", "sequence"),
}
_INTEGER = re.compile(r"[+-]?\d{1,40}")


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane of a file: its name, and its rows in the order of the file."""

    name: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class _Cells:
    """One row as it stands in the file, with the words that say where it stands."""

    where: str
    id: Any
    ordinal: Any
    created: Any
    sequence: Any


def load_lane(text: str, source: str, wanted: str | None = None) -> Lane:
    """The lane in `text`, the content of the file called `source`; `wanted` picks one of several by name.

    Raises `LaneError` with one sentence that says what is wrong, in which row, and what to do.
    """
    if not text.strip():
        raise LaneError(f"{source} is empty; it should hold rows as JSON, or as CSV with a header")
    if text.lstrip()[0] in "{[":
        name, cells = _from_json(text, source, wanted)
    else:
        if wanted is not None:
            raise LaneError(f"{source} is CSV and holds one lane; --lane chooses among the lanes of a JSON file")
        name, cells = source, _from_csv(text, source)
    return Lane(name, tuple(_rows(list(cells))))


def _from_json(text: str, source: str, wanted: str | None) -> tuple[str, Iterator[_Cells]]:
    try:
        document = strict_json.loads(text)
    except strict_json.NotJson as error:
        raise LaneError(f"{source} is not JSON: {error}") from None
    if isinstance(document, dict) and "lanes" in document:
        document = _choose(document["lanes"], source, wanted)
    elif wanted is not None and not (isinstance(document, dict) and document.get("name") == wanted):
        raise LaneError(f"{source} holds one lane and no list of lanes; leave --lane {wanted} away")
    rows, name = document, source
    if isinstance(document, dict):
        rows, name = document.get("rows"), str(document.get("name", source))
    if not isinstance(rows, list):
        raise LaneError(
            f"{source} has no list of rows; expected a list, {{rows: […]}} or {{lanes: [{{name, rows}} …]}}"
        )
    return name, (_json_row(row, f"{source}, row {i}") for i, row in enumerate(rows, 1))


def _choose(lanes: Any, source: str, wanted: str | None) -> Any:
    if not isinstance(lanes, list):
        raise LaneError(f"{source}: lanes is {_shown(lanes)}, not a list")
    named = {str(lane["name"]): lane for lane in lanes if isinstance(lane, dict) and "name" in lane}
    if wanted in named:
        return named[wanted]
    if wanted is None and len(lanes) == 1:
        return lanes[0]
    names = ", ".join(named) or "none with a name"
    if wanted is None:
        raise LaneError(f"{source} holds {len(lanes)} lanes; choose one with --lane: {names}")
    raise LaneError(f"{source} has no lane {wanted!r}; it has {names}")


def _json_row(row: Any, where: str) -> _Cells:
    if not isinstance(row, dict):
        raise LaneError(f"{where} is {_shown(row)}, not an object with {', '.join(_COLUMNS)}")
    keys = _places(tuple(row))
    missing = [column for column, key in zip(_COLUMNS, keys, strict=True) if key is None]
    if missing:
        raise LaneError(f"{where} has no {missing[0]}; it has {', '.join(row) or 'nothing'}")
    return _Cells(where, *(row[key] for key in keys if key is not None))


def _from_csv(text: str, source: str) -> Iterator[_Cells]:
    lines = csv.reader(io.StringIO(text, newline=""))
    try:
        header = next(line for line in lines if line)
        keys = _places(tuple(header))
        missing = [column for column, key in zip(_COLUMNS, keys, strict=True) if key is None]
        if missing:
            raise LaneError(f"{source} has no column {missing[0]}; its header is {', '.join(header)}")
        at = [header.index(key) for key in keys if key is not None]
        number = 0
        for line in lines:
            if not line:
                continue
            number += 1
            where = f"{source}, row {number}"
            if len(line) != len(header):
                raise LaneError(f"{where} has {len(line)} cells where the header has {len(header)}")
            yield _Cells(where, *(line[i].strip() for i in at))
    except csv.Error as error:
        raise LaneError(f"{source}, line {lines.line_num} is not CSV: {error}") from None


@lru_cache(maxsize=64)
def _places(keys: tuple[str, ...]) -> tuple[str | None, ...]:
    """For each column, the key under which these rows hold it, or None."""
    plain = {re.sub(r"[^a-z]", "", key.lower()): key for key in reversed(keys)}
    return tuple(next((plain[name] for name in names if name in plain), None) for names in _COLUMNS.values())


def _rows(cells: Sequence[_Cells]) -> Iterator[Row]:
    ids = _ids(cells)
    dates = _dates(cells)
    for cell, id_, created in zip(cells, ids, dates, strict=True):
        ordinal = _integer(0 if cell.ordinal in (None, "") else cell.ordinal)
        if ordinal is None or ordinal < 0:
            raise LaneError(
                f"{cell.where} (id {id_}): enqueue_ordinal is {_shown(cell.ordinal)}; "
                "it must be a whole number from 0 up, 0 for a row of an older version"
            )
        sequence = _integer(cell.sequence)
        if sequence is None:
            raise LaneError(
                f"{cell.where} (id {id_}): delivery_sequence is {_shown(cell.sequence)}; it must be a whole number"
            )
        yield Row(id_, ordinal, created, sequence)


def _ids(cells: Sequence[_Cells]) -> list[Id]:
    """The ids, as numbers where all of them are; duplicates and mixtures are refused."""
    numbers = [_integer(cell.id) for cell in cells]
    ids: list[Id] = list(numbers)
    if None in numbers:
        ids = [cell.id for cell in cells]
        for cell in cells:
            if not isinstance(cell.id, str) or not cell.id:
                hint = "all ids of a lane must be whole numbers, or all of them texts"
                raise LaneError(f"{cell.where}: id is {_shown(cell.id)}; {hint}")
    seen: dict[Id, str] = {}
    for cell, id_ in zip(cells, ids, strict=True):
        if id_ in seen:
            first = seen[id_].rpartition(", ")[2]
            raise LaneError(f"{cell.where}: id {id_} stands in {first} already; ids must be unique in a lane")
        seen[id_] = cell.where
    return ids


def _dates(cells: Iterable[_Cells]) -> list[Any]:
    """The dates as comparable values, all of one kind and zone."""
    dates: list[Any] = []
    kind: str | None = None
    for cell in cells:
        date, here = _date(cell)
        if kind is None:
            kind = here
        elif here != kind:
            raise LaneError(
                f"{cell.where}: created_date {_shown(cell.created)} is {here} "
                f"where the rows before it have {kind}; "
                "write all dates of a lane in one zone"
            )
        dates.append(date)
    return dates


def _date(cell: _Cells) -> tuple[Any, str]:
    ticks = _integer(cell.created)
    if ticks is not None:
        return ticks, "a plain number"
    try:
        date, zone = parse_instant(cell.created)
    except (TypeError, ValueError):
        raise LaneError(
            f"{cell.where}: created_date is {_shown(cell.created)}; "
            "it must be an ISO 8601 date such as 2026-01-31T08:30:00Z, with at most nine digits of a second"
        ) from None
    return date, f"a date in zone {zone}" if zone else "a date without a time zone"


def _integer(value: Any) -> int | None:
    if type(value) is int:
        return value
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    return None


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"
