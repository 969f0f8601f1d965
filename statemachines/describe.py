"""The commands of a family as a page for people, made from the specification alone (see `tools/write_docs.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from statemachines.commands import Column, Command, CommandFamily, RowKind
from statemachines.describe_rules import answer_table, check_table, reading_table, rung_table
from statemachines.markdown import table as _table
from statemachines.model import Lifecycle
from statemachines.spec import Spec
from statemachines.table import Table

Schema = Mapping[str, Any]
#: command (or `recover`, `snapshot`) -> (caption, text) of real exchanges.
Examples = Mapping[str, Sequence[tuple[str, str]]]

_ANY = "any JSON"


def commands_page(spec: Spec, family: CommandFamily, config: Schema, examples: Examples) -> str:
    """The page of one family; `config` is the schema of its configuration document."""
    lifecycles = {name: spec.lifecycles[name] for name in _lifecycles(family)}
    parts = [
        f"# Commands: {family.title.lower()}\n",
        "<!-- Made by `python tools/write_docs.py` from spec/; edit the sources, not this page. -->\n",
        f"{family.about}\n",
        "How messages travel, what a rung is and what every driver does is in [driver-protocol.md](driver-protocol.md);"
        f" this page is what the family `{family.id}` adds. Source of all rules: `{family.source}`.\n",
        _overview(family),
        rung_table(spec, family),
        *(_command(family, command, examples) for command in family.commands.values()),
        _recovery(family, examples),
        check_table(spec, family),
        answer_table(family) + _shown(examples.get("answers", ())),
        _rows(family, examples),
        *(_decisions(spec.tables[name]) for name in family.tables),
        *(_lifecycle(lc) for lc in lifecycles.values()),
        _codes(spec, family),
        _limits(spec, family),
        reading_table(spec, family),
        _config(config),
    ]
    return "\n".join(part for part in parts if part)


def _overview(family: CommandFamily) -> str:
    rows = [(f"`{c.name}`", c.status, c.rung, c.feature or "", c.purpose) for c in family.commands.values()]
    table = _table(("command", "status", "rung", "feature", "purpose"), rows)
    left = "\n".join(f"- {sentence}" for sentence in family.leave_out)
    return (
        f"## Overview\n\n{table}\n`live` commands are sent; `planned` ones are described ahead of their use and never"
        " sent yet. A command with a feature is sent only to drivers that name it in `hello`.\n\n"
        f"What a driver may leave out:\n\n{left}\n"
    )


def _command(family: CommandFamily, command: Command, examples: Examples) -> str:
    status = "" if command.live else " (planned)"
    text = f"## `{command.name}`{status}\n\n{command.purpose}\n\n"
    text += "".join(f"- {sentence}\n" for sentence in command.behaviour)
    if not command.live:
        return text
    text += f"\n**Arguments**\n\n{_members(family, command.args)}"
    text += f"\n**Result**\n\n{_members(family, command.result)}"
    return text + _shown(examples.get(command.name, ()))


def _recovery(family: CommandFamily, examples: Examples) -> str:
    text = f"## `recover`\n\n{family.recovery.purpose}\n\n"
    text += "".join(f"- {sentence}\n" for sentence in family.recovery.behaviour)
    text += f"\n**Result** (the verb has no arguments)\n\n{_members(family, family.recovery.result)}"
    return text + _shown(examples.get("recover", ()))


def _rows(family: CommandFamily, examples: Examples) -> str:
    text = (
        "## Rows of `snapshot`\n\nEvery row has all of its columns and no others; `null` means that the implementation"
        " does not store it. Times are wall time in ms since 1970-01-01T00:00:00Z.\n\n"
    )
    for kind in family.rows.values():
        text += _kind(kind)
    return text + _shown(examples.get("snapshot", ()))


def _kind(kind: RowKind) -> str:
    marks = ["may be left out"] if kind.optional else []
    marks += [f"feature `{kind.feature}`"] if kind.feature else []
    said = f" ({', '.join(marks)})" if marks else ""
    rows = [
        (f"`{c.name}`", _column_type(c), "may be null" if c.nullable else "never null", c.meaning) for c in kind.columns
    ]
    return f"### `{kind.kind}`{said}\n\n{kind.meaning}\n\n{_table(('column', 'type', 'null', 'meaning'), rows)}\n"


def _column_type(column: Column) -> str:
    if column.type == "state":
        return "state of " + " or ".join(f"`{name}`" for name in column.of)
    if column.type == "lifecycle":
        return " or ".join(f"`{name}`" for name in column.of)
    return {"time": "time, ms", "json": _ANY}.get(column.type, column.type)


def _lifecycles(family: CommandFamily) -> list[str]:
    found = (name for kind in family.rows.values() for column in kind.columns for name in column.of)
    return list(dict.fromkeys(found))


def _lifecycle(lc: Lifecycle) -> str:
    states = [(f"`{s.name}`", "yes" if s.terminal else "", s.meaning) for s in lc.states.values()]
    edges: dict[tuple[str | None, str], list[str]] = {}
    for t in lc.transitions:
        edges.setdefault((t.source, t.dest), []).append(t.trigger)
    moves = [
        (f"`{source}`" if source else "(new)", f"`{dest}`", ", ".join(f"`{t}`" for t in triggers))
        for (source, dest), triggers in edges.items()
    ]
    never = [f"- {_pairs(n.source)} → {_pairs(n.dest)}: {n.reason}" for n in lc.never if n.actor is None]
    return (
        f"## States of `{lc.id}`\n\n{lc.title}.\n\n{_table(('state', 'final', 'meaning'), states)}\n"
        f"{_table(('from', 'to', 'by'), moves)}\nNever:\n\n" + "\n".join(never) + "\n"
    )


def _pairs(values: Iterable[object]) -> str:
    return ", ".join(_word(value) for value in values)


def _word(value: object) -> str:
    if value is None:
        return "(nothing)"
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"`{value}`"


def _decisions(table: Table) -> str:
    """A decision table as it stands; an empty condition means that the column does not matter."""
    decided = [name for name in next(iter(table.rows)).then if name not in ("source_rows", "note")]
    rows = [
        (
            *(_pairs(row.when[name]) if name in row.when else "" for name in table.columns),
            *(_pairs([row.then[name]]) for name in decided),
        )
        for row in table.rows
    ]
    head = (*table.columns, *(f"→ {name}" for name in decided))
    where = f"spec/tables/{table.id}.yaml"
    return f"## {table.title}\n\nAn empty cell fits any value. Explained in `{where}`.\n\n{_table(head, rows)}"


def _codes(spec: Spec, family: CommandFamily) -> str:
    """The words of the family's own source; another source's words would only mislead."""
    if spec.tables["codes"].source != family.source:
        return ""
    rows = [
        (f"`{row.id}`", str(row.then["group"]), str(row.then["meaning"]))
        for row in spec.tables["codes"].rows
        if row.then["group"] in ("code", "classification")
    ]
    return f"## Codes and classifications\n\n{_table(('word', 'kind', 'meaning'), rows)}"


def _limits(spec: Spec, family: CommandFamily) -> str:
    rows = [
        (
            f"`{row.id}`",
            f"{row.then['value']} {row.then['unit']}",
            str(row.then["meaning"]),
            _today(family, row.id),
        )
        for row in spec.tables["limits"].rows
        if row.then["source"] == family.source
    ]
    if not rows:
        return ""
    return (
        "## Limits\n\nThe numbers of the source. `reset` names in `limits` only those that a schedule changes; for all"
        f" others these hold.\n\n{_table(('limit', 'value', 'meaning', 'today'), rows)}"
    )


def _today(family: CommandFamily, limit: str) -> str:
    """A family that does not say which limits its schedules go past claims nothing of the others either."""
    if not family.limits_used:
        return ""
    return "schedules go past it" if limit in family.limits_used else "planned: nothing comes near it"


def _config(config: Schema) -> str:
    rows = list(_flatten(config, config.get("$defs", {}), ""))
    return (
        f"## Configuration document\n\n{config['description']} Schema: `spec/schema/"
        f"{config['$id'].rpartition('/')[2]}`.\n\n{_table(('member', 'type', 'required', 'meaning'), rows)}"
    )


def _shown(examples: Sequence[tuple[str, str]]) -> str:
    return "".join(f"\n{caption}\n\n```\n{text}\n```\n" for caption, text in examples)


# -- schemas as tables ---------------------------------------------------------------------------------------------


def _members(family: CommandFamily, schema: Schema) -> str:
    rows = list(_flatten(schema, family.definitions, ""))
    if not rows:
        return "An empty object.\n" if schema.get("additionalProperties") is False else "An object.\n"
    return _table(("member", "type", "required", "meaning"), rows)


def _flatten(schema: Schema, definitions: Mapping[str, Schema], prefix: str) -> Iterator[tuple[str, ...]]:
    """One line for each member, those of inner objects below it with a dotted path."""
    required = set(schema.get("required", ()))
    for name, given in schema.get("properties", {}).items():
        part = _resolved(given, definitions)
        path = f"{prefix}{name}"
        needed = "yes" if name in required else _when(schema, name) or "no"
        yield f"`{path}`", _type(part, definitions), needed, part.get("description", "")
        inner, mark = part, "."
        if part.get("type") == "array":
            inner, mark = _resolved(part.get("items", {}), definitions), "[]."
        for branch in inner.get("anyOf", (inner,)):
            yield from _flatten(_resolved(branch, definitions), definitions, path + mark)


def _when(schema: Schema, name: str) -> str:
    """For what value of which member this one is required, as the schema's own condition says."""
    for member, test in schema.get("if", {}).get("properties", {}).items():
        if name in schema.get("then", {}).get("required", ()):
            return f"for `{member}` {test['const']}"
        if name in schema.get("else", {}).get("required", ()):
            return f"unless `{member}` is {test['const']}"
    return ""


def _resolved(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """A schema with its reference followed; what it says beside the reference wins."""
    if "$ref" not in schema:
        return schema
    target = _resolved(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}


def _type(schema: Schema, definitions: Mapping[str, Schema]) -> str:
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join("null" if value is None else f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_type(_resolved(branch, definitions), definitions) for branch in schema["anyOf"])
    kind = schema.get("type", _ANY)
    if kind == "array":
        return "list of " + _type(_resolved(schema.get("items", {}), definitions), definitions)
    names = {"string": "text", "integer": "whole number", "boolean": "true or false"}
    return " or ".join(names.get(one, one) for one in ([kind] if isinstance(kind, str) else kind))
