"""JSON Schema validation with one clear sentence per fault, at the place in the YAML text."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from statemachines.findings import Finding
from statemachines.source_map import Document

_TYPES = {"object": "a mapping", "array": "a list", "string": "text", "null": "null"} | {
    name: f"a {name}" for name in ("boolean", "number")
}
_TYPES["integer"] = "an integer"


@cache
def validator(folder: Path, name: str) -> Draft202012Validator:
    """The validator for the schema `name` of this schema folder."""
    schema = json.loads((folder / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def check(document: Document, schema: Draft202012Validator) -> list[Finding]:
    """Every fault of one document against its schema."""
    found = [_explain(error, document) for top in schema.iter_errors(document.data) for error in _leaves(top)]
    return list(dict.fromkeys(finding for group in found for finding in group))


def explain(schema: Mapping[str, Any], value: object, name: str) -> Iterator[tuple[str, str]]:
    """Every fault of a plain value as (sentence, what to do); places in it begin with `name`."""
    root = _Nowhere()
    whole = {"properties": {name: {k: v for k, v in schema.items() if k != "$defs"}}, "$defs": schema.get("$defs", {})}
    for top in Draft202012Validator(whole).iter_errors({name: value}):
        for error in _leaves(top):
            for finding in _explain(error, root):
                yield finding.message, finding.fix


class _Nowhere:
    """Stands for a document that has no lines."""

    def finding(
        self, path: Sequence[str | int], rule: str, message: str, fix: str = "", *, key: bool = False
    ) -> Finding:
        del path, key
        return Finding("", 0, 0, rule, message, fix)


class _Places(Protocol):
    """What a finding needs of a document."""

    def finding(
        self, path: Sequence[str | int], rule: str, message: str, fix: str = "", *, key: bool = False
    ) -> Finding: ...


def _leaves(error: ValidationError) -> Iterator[ValidationError]:
    """The errors that a person can act on: of an `anyOf`, the branch that fits the kind of the value."""
    if error.validator not in ("anyOf", "oneOf") or not error.context:
        yield error
        return
    branches: dict[Any, list[ValidationError]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    # A branch that already fails on the type of the whole value is not the one the author meant.
    meant = [
        branch
        for branch in branches.values()
        if not any(inner.validator in ("type", "enum") and not inner.path for inner in branch)
    ]
    if len(meant) != 1:
        yield error
        return
    for inner in meant[0]:
        yield from _leaves(inner)


def _explain(error: Any, document: _Places) -> list[Finding]:
    path = list(error.absolute_path)
    rule = f"schema-{error.validator}"
    here = _place(path)
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = list(error.schema.get("properties", {}))
        extra = [name for name in error.instance if name not in known]
        return [
            document.finding(
                [*path, name], "schema-unknown-member", f"{here} has no member '{name}'", _guess(name, known),
                key=True,
            )
            for name in extra
        ]  # fmt: skip
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        return [
            document.finding(path, "schema-missing-member", f"{here} lacks the member '{name}'", f"add '{name}'")
            for name in missing
        ]
    if error.validator == "pattern" and "propertyNames" in error.absolute_schema_path:
        message = f"{here} has the key '{error.instance}', which is no plain name"
        fix = "use letters, digits and underscores"
        return [document.finding([*path, str(error.instance)], "schema-key", message, fix, key=True)]
    message, fix = _sentence(error)
    return [document.finding(path, rule, f"{here} {message}", fix)]


def _sentence(error: Any) -> tuple[str, str]:
    value, wanted, shown = error.instance, error.validator_value, _show(error.instance)
    match error.validator:
        case "type":
            kinds = [wanted] if isinstance(wanted, str) else wanted
            names = " or ".join(_TYPES.get(kind, kind) for kind in kinds)
            fix = "quote it" if "string" in kinds and not isinstance(value, dict | list) else f"write {names}"
            return f"is {shown}, not {names}", fix
        case "enum" | "const":
            allowed = [str(option) for option in wanted] if isinstance(wanted, list) else [str(wanted)]
            return f"is {shown}, which is none of {', '.join(allowed)}", _guess(str(value), allowed)
        case "pattern":
            return f"is {shown}, which does not look like {wanted}", "correct its spelling"
        case "minLength" | "minItems" | "minProperties":
            return "is empty", "write something or leave it out"
        case "uniqueItems":
            return "says something twice", "remove the repetition"
        case "minimum":
            return f"is {shown}, less than {wanted}", f"use at least {wanted}"
        case "anyOf":
            return f"is {shown}, which has no allowed form", "see the description in the schema"
    return f"is {shown}, which the schema refuses ({error.validator})", "see the schema"


def _place(path: list[str | int]) -> str:
    if not path:
        return "the document"
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _show(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _guess(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"use one of {', '.join(known)}" if known else "remove it"
