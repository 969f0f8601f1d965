"""The machine knows no protocol: families and their checkers are reached through the registry alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.families import FAMILIES

ROOT = Path(__file__).parents[2]
#: The one place where a family is the usual one, as the default of an argument.
DEFAULTS = {"conformance/cli/init.py": {"mutation-host"}}


def machine() -> Iterator[Path]:
    """Every module of the machine: all but what a family has of its own."""
    for path in sorted((ROOT / "conformance").rglob("*.py")):
        part, *rest = path.relative_to(ROOT / "conformance").parts
        if part == "families" or (part == "checkers" and len(rest) > 1):
            continue
        yield path


def names_of(family: str) -> set[str]:
    """What would betray that a module knows this family: its name, its commands, its requirements."""
    found = FAMILIES[family]
    commands = {op.args["cmd"] for s in found.scenarios for op in s.ops if op.op == "call"}
    return {family, *commands, *found.checkers}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_module_of_the_machine_names_a_family_a_command_or_a_requirement(family: str) -> None:
    known = names_of(family)
    assert len(known) > 10
    for path in machine():
        where = str(path.relative_to(ROOT))
        constants = (
            n.value for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Constant)
        )
        named = {value for value in constants if isinstance(value, str)} & known
        assert named <= DEFAULTS.get(where, set()), where


def test_no_module_of_the_machine_imports_a_family_by_name() -> None:
    own = tuple(f"conformance.{part}.{f.replace('-', '_')}" for part in ("families", "checkers") for f in FAMILIES)
    own += ("conformance.checkers.mutation", "conformance.checkers.push", "conformance.checkers.settle")
    for path in machine():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
        assert not [name for name in imported if name.startswith(own)], path
