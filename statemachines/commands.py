"""The commands of a family as frozen dataclasses, and the JSON Schemas of what a driver may answer to them.

The text is in `spec/commands/`; here it becomes objects, and the fixed columns of a snapshot become a schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from statemachines.model import Lifecycle

__all__ = ["Check", "Column", "Command", "CommandFamily", "Recovery", "RowKind", "Told", "family"]

Schema = Mapping[str, Any]
Raw = Mapping[str, Any]

_TYPES: Mapping[str, Schema] = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "count": {"type": "integer", "minimum": 0},
    "time": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "json": {},
}


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `live` ones may be sent; `feature` None means that every driver of the rung gets it.

    `args` and `result` are JSON Schemas whose references point into the family's definitions.
    """

    name: str
    status: str
    rung: str
    purpose: str
    args: Schema
    result: Schema
    behaviour: tuple[str, ...] = ()
    feature: str | None = None

    @property
    def live(self) -> bool:
        """Whether the suite may send it."""
        return self.status == "live"


@dataclass(frozen=True, slots=True)
class Recovery:
    """The verb `recover` in this family: what it means, and the schema of its result."""

    purpose: str
    result: Schema
    behaviour: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a snapshot. `of` names the lifecycles whose states (or ids) are its values."""

    name: str
    type: str
    meaning: str
    nullable: bool = True
    of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RowKind:
    """One kind of durable row with its fixed columns; `optional` kinds may be left out of a snapshot."""

    kind: str
    key: tuple[str, ...]
    meaning: str
    columns: tuple[Column, ...]
    optional: bool = False
    feature: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One check that a call meets: a row of the order of checks, in plain words, with the codes that it may give."""

    row: str
    when: str
    codes: tuple[str, ...]
    otherwise: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What a caller is told in one situation, and what the ledger then holds."""

    when: str
    row: str
    classification: str
    code: str
    cause: str
    reservation: str = ""


@dataclass(frozen=True, slots=True)
class CommandFamily:
    """Everything that a driver of one family is asked.

    `config` is the name of its configuration's schema, `tables` are the decision tables that explain it. `checks` are
    rows of the table `order_of_checks`, `limits_used` the limits that schedules go past.
    """

    id: str
    title: str
    source: str
    about: str
    config: str
    definitions: Mapping[str, Schema]
    commands: Mapping[str, Command]
    recovery: Recovery
    rows: Mapping[str, RowKind]
    leave_out: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    order_of_checks: str = ""
    checks: tuple[Check, ...] = ()
    answers: tuple[Told, ...] = ()
    limits_used: tuple[str, ...] = ()

    def closed(self, schema: Schema) -> Schema:
        """A schema of this family that stands alone: with the definitions that its references need."""
        return {**schema, "$defs": dict(self.definitions)}

    def snapshot(self, lifecycles: Mapping[str, Lifecycle]) -> Schema:
        """The schema of the result of `snapshot`: every column in every row, and none besides."""
        kinds = {kind.kind: {"type": "array", "items": _row(kind, lifecycles)} for kind in self.rows.values()}
        return {
            "type": "object",
            "required": ["source", "kinds"],
            "additionalProperties": False,
            "properties": {
                "source": {"enum": ["store", "derived"]},
                "kinds": {"type": "object", "additionalProperties": False, "properties": kinds},
            },
        }


def _row(kind: RowKind, lifecycles: Mapping[str, Lifecycle]) -> Schema:
    return {
        "type": "object",
        "required": [column.name for column in kind.columns],
        "additionalProperties": False,
        "properties": {column.name: _value(column, lifecycles) for column in kind.columns},
    }


def _value(column: Column, lifecycles: Mapping[str, Lifecycle]) -> Schema:
    if column.type in ("state", "lifecycle"):
        states = [state for name in column.of for state in lifecycles[name].states]
        values: list[str | None] = list(dict.fromkeys(states if column.type == "state" else column.of))
        return {"enum": [*values, None] if column.nullable else values}
    schema = _TYPES[column.type]
    if "type" not in schema or not column.nullable:
        return schema
    return {**schema, "type": [schema["type"], "null"]}


def family(raw: Raw, source: str) -> CommandFamily:
    """A family from the valid data of its file."""
    recovery = raw["recovery"]
    return CommandFamily(
        id=raw["id"],
        title=raw["title"],
        source=source,
        about=raw["about"],
        config=raw["config"],
        definitions=MappingProxyType(dict(raw["definitions"])),
        commands=MappingProxyType({item["name"]: _command(item) for item in raw["commands"]}),
        recovery=Recovery(recovery["purpose"], recovery["result"], tuple(recovery.get("behaviour", ()))),
        rows=MappingProxyType({item["kind"]: _kind(item) for item in raw["rows"]}),
        leave_out=tuple(raw.get("leave_out", ())),
        tables=tuple(raw.get("tables", ())),
        order_of_checks=raw.get("checks", {}).get("table", ""),
        checks=tuple(
            Check(item["row"], item["when"], tuple(item["codes"]), item.get("otherwise", ""))
            for item in raw.get("checks", {}).get("rows", ())
        ),
        answers=tuple(Told(**item) for item in raw.get("answers", ())),
        limits_used=tuple(raw.get("limits_used", ())),
    )


def _command(raw: Raw) -> Command:
    return Command(
        raw["name"],
        raw["status"],
        raw["rung"],
        raw["purpose"],
        raw["args"],
        raw["result"],
        tuple(raw.get("behaviour", ())),
        raw.get("feature"),
    )


def _kind(raw: Raw) -> RowKind:
    columns = tuple(
        Column(item["name"], item["type"], item["meaning"], item.get("null", True), _many(item.get("of", ())))
        for item in raw["columns"]
    )
    return RowKind(
        raw["kind"], tuple(raw["key"]), raw["meaning"], columns, raw.get("optional", False), raw.get("feature")
    )


def _many(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
