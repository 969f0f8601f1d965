"""Findings: what is wrong with a specification, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One fault of the specification text.

    `file` is relative to the root of the specification; `line` and `column` count from 1.
    `rule` is a stable id such as `yaml-duplicate-key`; `fix` says what the author should do.
    """

    file: str
    line: int
    column: int
    rule: str
    message: str
    fix: str = ""

    def __str__(self) -> str:
        tail = f" ({self.fix})" if self.fix else ""
        return f"{self.file}:{self.line}:{self.column}: {self.rule}: {self.message}{tail}"


class SpecError(ValueError):
    """The specification cannot be loaded; `findings` holds every fault that one pass found."""

    findings: tuple[Finding, ...]

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(sorted(findings))
        count = len(self.findings)
        head = f"the specification has {count} fault{'s' if count != 1 else ''}"
        super().__init__("\n".join([head, *map(str, self.findings)]))
