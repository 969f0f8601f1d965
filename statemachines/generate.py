"""A JSON Schema as Python source: the quickest yes or no, for what is checked many thousand times in a run.

What is common in rows and answers (types, enumerations, members, items) becomes plain statements; every other keyword
is left to the closures of `accept`, so both know the same subset and refuse the same keywords.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from statemachines.accept import Check, compile_schema

__all__ = ["generate"]

#: JSON type -> the condition under which a value is NOT of it.
_NOT: Mapping[str, str] = {
    "object": "not isinstance({v}, dict)",
    "array": "not isinstance({v}, list)",
    "string": "not isinstance({v}, str)",
    "boolean": "{v} is not True and {v} is not False",
    "null": "{v} is not None",
    # 1.0 is an integer in JSON Schema, True is none.
    "integer": "type({v}) is not int and not (type({v}) is float and {v}.is_integer())",
    "number": "type({v}) is not int and type({v}) is not float",
}
_SILENT = frozenset({"$schema", "$id", "$defs", "title", "description"})
_MEMBERS = frozenset({"properties", "required", "additionalProperties"})
_CONDITION = frozenset({"if", "then", "else"})


def generate(schema: Mapping[str, Any]) -> Check:
    """A function that says whether a value is valid. Raises UnknownKeyword outside the subset of `accept`."""
    writer = _Writer(schema)
    writer.schema(schema, "v", 2)
    body = "\n".join(writer.lines)
    source = f"def check(v):\n  try:\n{body}\n    return True\n  except KeyError:\n    return False\n"
    exec(compile(source, "<schema>", "exec"), writer.constants)
    check: Check = writer.constants["check"]
    return check


class _Writer:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        self._count = 0
        self._open: list[str] = []

    def line(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def name(self, prefix: str, value: Any = None) -> str:
        self._count += 1
        name = f"{prefix}{self._count}"
        if value is not None:
            self.constants[name] = value
        return name

    def unless(self, depth: int, condition: str) -> None:
        self.line(depth, f"if {condition}: return False")

    def schema(self, schema: Mapping[str, Any] | bool, v: str, depth: int) -> None:
        """Statements that return False unless the value of variable `v` is valid."""
        if isinstance(schema, bool):
            if not schema:
                self.line(depth, "return False")
            return
        rest = {key: value for key, value in schema.items() if key not in _SILENT}
        kind = rest.get("type")
        if isinstance(kind, str):
            self.unless(depth, _NOT[rest.pop("type")].format(v=v))
        elif kind is not None:
            self.unless(depth, " and ".join(f"({_NOT[one].format(v=v)})" for one in rest.pop("type")))
        for keyword in ("enum", "const"):
            if keyword in rest and self._is_plain(options := _options(rest, keyword)):
                allowed = self.name("e", frozenset(options) - {None})
                wrong = f"not isinstance({v}, str) or {v} not in {allowed}"
                self.unless(depth, f"{v} is not None and ({wrong})" if None in options else wrong)
                del rest[keyword]
        if "minimum" in rest:
            number = "" if kind in ("integer", "number") else f"type({v}) in (int, float) and "
            self.unless(depth, f"{number}{v} < {rest.pop('minimum')!r}")
        if "minLength" in rest:
            text = "" if kind == "string" else f"isinstance({v}, str) and "
            self.unless(depth, f"{text}len({v}) < {rest.pop('minLength')!r}")
        if "$ref" in rest and rest["$ref"] not in self._open:
            self._reference(rest.pop("$ref"), v, depth)
        if _MEMBERS & rest.keys() and rest.get("additionalProperties", True) in (True, False):
            members = {key: rest.pop(key) for key in _MEMBERS if key in rest}
            self._guarded("dict", kind == "object", v, depth, lambda at: self._members(members, v, at))
        if "items" in rest:
            items = rest.pop("items")
            self._guarded("list", kind == "array", v, depth, lambda at: self._items(items, v, at))
        self._others(rest, v, depth)

    def _others(self, rest: Mapping[str, Any], v: str, depth: int) -> None:
        groups = [{key: rest[key] for key in rest if key in group} for group in (_CONDITION, _MEMBERS)]
        groups += [{key: value} for key, value in rest.items() if key not in _CONDITION | _MEMBERS]
        for group in groups:
            if group:
                closure = self.name("c", compile_schema({**group, "$defs": self.root.get("$defs", {})}))
                self.unless(depth, f"not {closure}({v})")

    def _reference(self, target: str, v: str, depth: int) -> None:
        definition = self.root.get("$defs", {}).get(target.removeprefix("#/$defs/"))
        if definition is None:
            compile_schema({"$ref": target})  # says what is wrong with it
        self._open.append(target)
        self.schema(definition, v, depth)
        self._open.pop()

    def _guarded(self, kind: str, certain: bool, v: str, depth: int, write: Any) -> None:
        """Statements that concern values of one type only."""
        if not certain:
            self.line(depth, f"if isinstance({v}, {kind}):")
            self.line(depth + 1, "pass")
        write(depth if certain else depth + 1)

    def _members(self, members: Mapping[str, Any], v: str, depth: int) -> None:
        properties = members.get("properties", {})
        required = members.get("required", ())
        for name in required:
            if name not in properties:
                self.unless(depth, f"{name!r} not in {v}")
        count = self.name("n")
        closed = members.get("additionalProperties", True) is False
        if closed:
            self.line(depth, f"{count} = {sum(name in properties for name in required)}")
        for name, part in properties.items():
            inner, at = self.name("m"), depth
            if name not in required:
                self.line(depth, f"if {name!r} in {v}:")
                at += 1
                if closed:
                    self.line(at, f"{count} += 1")
            self.line(at, f"{inner} = {v}[{name!r}]")
            self.schema(part, inner, at)
        if closed:
            self.unless(depth, f"len({v}) != {count}")

    def _items(self, items: Mapping[str, Any] | bool, v: str, depth: int) -> None:
        inner = self.name("i")
        self.line(depth, f"for {inner} in {v}:")
        self.line(depth + 1, "pass")
        self.schema(items, inner, depth + 1)

    @staticmethod
    def _is_plain(options: list[Any]) -> bool:
        return all(option is None or isinstance(option, str) for option in options)


def _options(schema: Mapping[str, Any], keyword: str) -> list[Any]:
    return list(schema["enum"]) if keyword == "enum" else [schema["const"]]
