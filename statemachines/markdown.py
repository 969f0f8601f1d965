"""Tables in Markdown, for the pages that are made from the specification."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table ending in a line break, without the columns that no row fills."""
    kept = list(rows)
    columns = [i for i in range(len(head)) if any(row[i] for row in kept)]
    lines = [[head[i] for i in columns], ["---"] * len(columns), *([row[i] for i in columns] for row in kept)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"
