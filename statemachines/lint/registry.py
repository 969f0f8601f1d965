"""How a rule is written: a generator of findings over a context, registered under its id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from statemachines import assemble
from statemachines.findings import Finding
from statemachines.layout import Entry
from statemachines.sources import Sources

Path = tuple[str | int, ...]
Problem = tuple[Entry, Path, str, str]
"""Where (entry and path inside it), the sentence, the fix."""


class Context:
    """The entries of a specification with the objects built from them."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.built: dict[str, dict[str, Any]] = assemble.build(sources.entries)

    def each(self, kind: str) -> Iterator[tuple[Entry, Any]]:
        """Every entry of a kind with its object, in file order."""
        for entry in self.sources.entries:
            if entry.kind == kind:
                yield entry, self.built[kind][entry.id]

    def ids(self, kind: str) -> set[str]:
        """The ids of a kind."""
        return set(self.built[kind])


@dataclass(frozen=True, slots=True)
class Rule:
    """`local` rules look at one entry at a time, so they may run while other files are broken."""

    id: str
    sentence: str
    local: bool
    problems: Callable[[Context], Iterator[Problem]]

    def check(self, context: Context) -> Iterator[Finding]:
        """The findings of this rule."""
        for entry, path, message, fix in self.problems(context):
            yield context.sources.finding(entry, path, self.id, message, fix)


RULES: dict[str, Rule] = {}


def rule(
    name: str, sentence: str, *, local: bool = True
) -> Callable[[Callable[[Context], Iterator[Problem]]], Callable[[Context], Iterator[Problem]]]:
    """Register the decorated generator as the rule `name`."""

    def register(problems: Callable[[Context], Iterator[Problem]]) -> Callable[[Context], Iterator[Problem]]:
        if name in RULES:
            raise ValueError(f"two lint rules are called {name}")
        RULES[name] = Rule(name, sentence, local, problems)
        return problems

    return register


def names(values: Any) -> str:
    """A list for a sentence."""
    return ", ".join("null" if value is None else str(value) for value in values)
