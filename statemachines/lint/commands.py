"""Rules about commands: schemas that can be checked, columns that exist, lifecycles that are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from statemachines.accept import UnknownKeyword, compile_schema
from statemachines.commands import CommandFamily
from statemachines.layout import Entry
from statemachines.lint.registry import Context, Path, Problem, names, rule

Schema = Mapping[str, Any]


def _schemas(entry: Entry) -> Iterator[tuple[Path, Schema]]:
    """Every schema of a family with its place in the file."""
    data: Any = entry.data
    for name, schema in data["definitions"].items():
        yield ("definitions", name), schema
    for index, command in enumerate(data["commands"]):
        yield ("commands", index, "args"), command["args"]
        yield ("commands", index, "result"), command["result"]
    yield ("recovery", "result"), data["recovery"]["result"]


@rule("command-schema", "Every schema of a command is JSON Schema that the suite can compile.")
def command_schema(context: Context) -> Iterator[Problem]:
    for entry, made in context.each("command"):
        family: CommandFamily = made
        for path, schema in _schemas(entry):
            whole = family.closed(schema)
            try:
                Draft202012Validator.check_schema(dict(whole))
                compile_schema(whole)
            except SchemaError as error:
                yield entry, (*path, *error.absolute_path), f"is no JSON Schema: {error.message}", "correct it"
            except UnknownKeyword as unknown:
                yield entry, path, str(unknown), "use only keywords that the suite compiles"


@rule("command-open-result", "What a driver answers is an object whose members are named.")
def command_open_result(context: Context) -> Iterator[Problem]:
    for entry, made in context.each("command"):
        results = [(("commands", i, "result"), c.result) for i, c in enumerate(made.commands.values()) if c.live]
        for path, schema in [*results, (("recovery", "result"), made.recovery.result)]:
            if schema.get("type") != "object" or schema.get("additionalProperties") is not False:
                yield entry, path, "lets any member pass", "write type: object and additionalProperties: false"


@rule("command-required", "A member that a closed object requires is one that it may have.")
def command_required(context: Context) -> Iterator[Problem]:
    for entry, _ in context.each("command"):
        for path, schema in _schemas(entry):
            for inner, part in _objects(schema, path):
                known = part.get("properties", {})
                missing = [name for name in part.get("required", ()) if name not in known]
                if missing and part.get("additionalProperties") is False:
                    yield entry, (*inner, "required"), f"requires {names(missing)}, which it refuses", "describe it"


def _objects(schema: Any, path: Path) -> Iterator[tuple[Path, Schema]]:
    if isinstance(schema, Mapping):
        if "required" in schema:
            yield path, schema
        for name, part in schema.items():
            yield from _objects(part, (*path, name))
    elif isinstance(schema, list):
        for index, part in enumerate(schema):
            yield from _objects(part, (*path, index))


@rule("command-duplicate", "Commands, kinds of rows and their columns have names of their own.")
def command_duplicate(context: Context) -> Iterator[Problem]:
    for entry, _ in context.each("command"):
        data: Any = entry.data
        yield from _twice(entry, ("commands",), [item["name"] for item in data["commands"]], "name")
        yield from _twice(entry, ("rows",), [item["kind"] for item in data["rows"]], "kind")
        for index, kind in enumerate(data["rows"]):
            columns = [column["name"] for column in kind["columns"]]
            yield from _twice(entry, ("rows", index, "columns"), columns, "name")
            if unknown := [name for name in kind["key"] if name not in columns]:
                message = f"{kind['kind']} has no column {names(unknown)}"
                yield entry, ("rows", index, "key"), message, f"use columns of {names(columns)}"


def _twice(entry: Entry, path: Path, found: list[str], member: str) -> Iterator[Problem]:
    for name, count in Counter(found).items():
        if count > 1:
            last = len(found) - 1 - found[::-1].index(name)
            yield entry, (*path, last, member), f"{name} stands here {count} times", "give it another name"


@rule("command-lifecycle", "A column of states names lifecycles that exist.", local=False)
def command_lifecycle(context: Context) -> Iterator[Problem]:
    known = context.ids("lifecycle")
    for entry, made in context.each("command"):
        family: CommandFamily = made
        for index, kind in enumerate(family.rows.values()):
            for place, column in enumerate(kind.columns):
                path: Path = ("rows", index, "columns", place)
                speaks = column.type in ("state", "lifecycle")
                if speaks != bool(column.of):
                    fix = "name lifecycles in `of`" if speaks else "remove `of`"
                    yield (
                        entry,
                        path,
                        f"the column {column.name} of type {column.type} "
                        + ("names no lifecycle" if speaks else "has no use for lifecycles"),
                        fix,
                    )
                for name in column.of:
                    if name not in known:
                        yield (
                            entry,
                            (*path, "of"),
                            f"no lifecycle is called {name}",
                            f"use one of {names(sorted(known))}",
                        )


@rule("command-file-name", "The file of a family is named like the family.")
def command_file_name(context: Context) -> Iterator[Problem]:
    for entry, _ in context.each("command"):
        wanted = f"commands/{entry.id.replace('-', '_')}.yaml"
        if entry.file != wanted:
            yield entry, ("id",), f"the family {entry.id} stands in {entry.file}", f"name the file {wanted}"
