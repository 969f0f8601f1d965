"""Structural rules over a specification: what JSON Schema cannot say.

`lint` reports everything in one pass; each finding has file, line, column, rule id, a sentence and a fix.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from statemachines import layout
from statemachines.findings import Finding
from statemachines.lint import commands, interpretations, lifecycles, procedures, requirements, tables
from statemachines.lint.registry import RULES, Context
from statemachines.sources import Sources

__all__ = ["lint", "lint_rules"]

# Importing the modules registers their rules.
MODULES = (commands, lifecycles, procedures, tables, requirements, interpretations)


def lint(spec_root: Path | None = None) -> list[Finding]:
    """Every fault of the specification below `spec_root` (default: this package's), sorted by place.

    While a file cannot be loaded, the rules that look across files rest: they would report what is merely
    hidden. Reads the YAML each time.
    """
    sources = Sources.read((spec_root or layout.default_root()).resolve())
    context = Context(sources)
    found = list(sources.findings)
    for rule in RULES.values():
        if rule.local or not sources.findings:
            found += rule.check(context)
    return sorted(set(found))


def lint_rules() -> Mapping[str, str]:
    """Each structural rule id with one sentence; loading has its own (`yaml-`, `schema-`, `spec-`)."""
    return {rule.id: rule.sentence for rule in RULES.values()}
