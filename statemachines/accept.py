"""A JSON Schema compiled to one quick yes-or-no function.

Explaining a fault is the job of `schema`, which takes its time; nearly always there is none, and then this
answers in a fraction of that time and without importing a library. It knows the keywords that our own schemas
use and refuses to compile any other, so that no rule is skipped in silence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Check = Callable[[Any], bool]

_SILENT = {"$schema", "$id", "$defs", "title", "description"}


class UnknownKeyword(ValueError):
    """The schema uses a keyword that this module does not compile."""


def compile_schema(schema: Mapping[str, Any]) -> Check:
    """A function that says whether a value is valid. Raises UnknownKeyword outside the subset."""
    return _Compiler(schema).check(schema)


class _Compiler:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self.definitions: Mapping[str, Any] = root.get("$defs", {})
        self.compiled: dict[str, Check] = {}

    def check(self, schema: Mapping[str, Any] | bool) -> Check:
        if isinstance(schema, bool):
            return lambda _: schema
        checks = [
            check
            for keyword, wanted in schema.items()
            if keyword not in _SILENT and (check := self.keyword(keyword, wanted, schema)) is not None
        ]
        if len(checks) == 1:
            return checks[0]
        return lambda value: all(check(value) for check in checks)

    def keyword(self, keyword: str, wanted: Any, schema: Mapping[str, Any]) -> Check | None:
        match keyword:
            case "$ref":
                return self.reference(wanted)
            case "type":
                return _types([wanted] if isinstance(wanted, str) else wanted)
            case "enum":
                return _enum(wanted)
            case "const":
                return _enum([wanted])
            case "pattern":
                search = re.compile(wanted).search
                return lambda v: not isinstance(v, str) or search(v) is not None
            case "minimum":
                return lambda v: isinstance(v, bool) or not isinstance(v, int | float) or v >= wanted
            case "minLength":
                return lambda v: not isinstance(v, str) or len(v) >= wanted
            case "minItems":
                return lambda v: not isinstance(v, list) or len(v) >= wanted
            case "minProperties":
                return lambda v: not isinstance(v, dict) or len(v) >= wanted
            case "uniqueItems":
                return _unique if wanted else None
            case "items":
                item = self.check(wanted)
                return lambda v: not isinstance(v, list) or all(map(item, v))
            case "required":
                names = frozenset(wanted)
                return lambda v: not isinstance(v, dict) or names <= v.keys()
            case "propertyNames":
                name = self.check(wanted)
                return lambda v: not isinstance(v, dict) or all(map(name, v))
            case "properties":
                return self.members(wanted, schema.get("additionalProperties", True))
            case "additionalProperties":
                return None if "properties" in schema else self.members({}, wanted)
            case "anyOf":
                branches = [self.check(branch) for branch in wanted]
                return lambda v: any(branch(v) for branch in branches)
            case "if":
                return self.conditional(wanted, schema)
            case "then" | "else":
                return None
        raise UnknownKeyword(f"the schema keyword {keyword!r} is not supported; add it to accept.py")

    def reference(self, target: str) -> Check:
        name = target.removeprefix("#/$defs/")
        if name not in self.definitions:
            raise UnknownKeyword(f"the reference {target!r} leads out of this schema")
        if name not in self.compiled:

            def later(value: Any) -> bool:  # a recursive definition meets itself before it is finished
                return self.compiled[name](value)

            self.compiled[name] = later
            self.compiled[name] = self.check(self.definitions[name])
        return self.compiled[name]

    def members(self, properties: Mapping[str, Any], additional: Any) -> Check:
        checks = {name: self.check(schema) for name, schema in properties.items()}
        other = self.check(additional)

        def check(value: Any) -> bool:
            if not isinstance(value, dict):
                return True
            return all(checks.get(name, other)(member) for name, member in value.items())

        return check

    def conditional(self, condition: Any, schema: Mapping[str, Any]) -> Check:
        test, yes, no = (self.check(part) for part in (condition, schema.get("then", True), schema.get("else", True)))
        return lambda v: yes(v) if test(v) else no(v)


_IS: Mapping[str, Check] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "integer": lambda v: (isinstance(v, int) and not isinstance(v, bool)) or (isinstance(v, float) and v.is_integer()),
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
}


def _types(names: Sequence[str]) -> Check:
    checks = [_IS[name] for name in names]
    return checks[0] if len(checks) == 1 else lambda v: any(check(v) for check in checks)


def _enum(options: Sequence[Any]) -> Check:
    if all(isinstance(option, str) for option in options):
        texts = frozenset(options)
        return lambda v: isinstance(v, str) and v in texts
    # In Python True equals 1, in JSON it does not.
    return lambda v: any(v == option and isinstance(v, bool) == isinstance(option, bool) for option in options)


def _unique(value: Any) -> bool:
    if not isinstance(value, list) or len(value) < 2:
        return True
    if all(isinstance(item, str) for item in value):
        return len(set(value)) == len(value)
    return not any(_same(item, other) for index, item in enumerate(value) for other in value[:index])


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_same, one, two))
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_same(one[key], two[key]) for key in one)
    return bool(one == two) and isinstance(one, bool) == isinstance(two, bool)
