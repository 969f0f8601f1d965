"""Rules about tables: total, without overlap, and every value from its domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from statemachines.lint.registry import Context, Path, Problem, names, rule
from statemachines.table import Row, Table, Value


def hole(table: Table) -> Mapping[str, Value] | None:
    """One combination that no row covers (columns that do not matter are left out), or None."""
    columns = list(table.columns.items())
    covered: set[tuple[int, frozenset[int]]] = set()

    def search(depth: int, rows: Sequence[Row]) -> dict[str, Value] | None:
        key = (depth, frozenset(map(id, rows)))
        if not rows:
            return {}
        if depth == len(columns) or key in covered:
            return None
        name, domain = columns[depth]
        for value in domain:
            rest = [row for row in rows if name not in row.when or value in row.when[name]]
            found = search(depth + 1, rest)
            if found is not None:
                return {name: value, **found}
        covered.add(key)
        return None

    return search(0, table.rows)


def meet(one: Row, two: Row) -> bool:
    """Whether some combination is covered by both rows."""
    return all(set(one.when[name]) & set(two.when[name]) for name in one.when.keys() & two.when.keys())


@rule("table-hole", "A decision table has a row for every combination.")
def table_hole(context: Context) -> Iterator[Problem]:
    for entry, table in context.each("table"):
        missing = hole(table) if table.kind == "decision" else None
        if missing is not None:
            said = names(f"{name} {names([value])}" for name, value in missing.items())
            yield entry, ("rows",), f"no row covers {said}", "add a row"


@rule("table-overlap", "No two rows of a decision table cover one combination.")
def table_overlap(context: Context) -> Iterator[Problem]:
    for entry, table in context.each("table"):
        if table.kind != "decision":
            continue
        for (_, one), (index, two) in combinations(enumerate(table.rows), 2):
            if meet(one, two):
                yield entry, ("rows", index), f"{two.id} overlaps {one.id}", "add a condition to one of them"


@rule("table-duplicate-row", "A row's id is its own.")
def duplicate_row(context: Context) -> Iterator[Problem]:
    for entry, table in context.each("table"):
        seen: set[str] = set()
        for index, row in enumerate(table.rows):
            if row.id in seen:
                yield entry, ("rows", index, "id"), f"{row.id} stands here again", "give it another id"
            seen.add(row.id)


@rule("table-condition", "A row's conditions name columns and values of the table.")
def condition(context: Context) -> Iterator[Problem]:
    for entry, table in context.each("table"):
        for index, row in enumerate(table.rows):
            for name, values in row.when.items():
                path: Path = ("rows", index, "when", name)
                if name not in table.columns:
                    yield entry, path, f"there is no column {name}", f"use {names(table.columns)}"
                    continue
                strange = [value for value in values if value not in table.columns[name]]
                if strange:
                    yield (
                        entry,
                        path,
                        f"{name} is never {names(strange)}",
                        f"use {names(table.columns[name])}",
                    )


@rule("table-decision", "A row decides exactly the declared members, with values of their domains.")
def decision(context: Context) -> Iterator[Problem]:
    for entry, table in context.each("table"):
        declared = entry.data.get("decision", {})
        assert isinstance(declared, dict)
        rows = entry.data["rows"] if table.kind == "decision" else []
        assert isinstance(rows, list)
        for index, row in enumerate(rows):
            path: Path = ("rows", index, "then")
            if missing := [name for name in declared if name not in row["then"]]:
                yield entry, path, f"nothing is decided about {names(missing)}", "add it"
            for name, value in row["then"].items():
                if name not in declared:
                    yield entry, (*path, name), f"{name} is not declared", "declare it under decision"
                elif value not in declared[name]:
                    message = f"{name} is never {names([value])}"
                    yield entry, (*path, name), message, f"use {names(declared[name])}"


@rule("table-members", "Each row of a list has exactly the declared members.")
def members(context: Context) -> Iterator[Problem]:
    for entry, table in context.each("table"):
        if table.kind != "list":
            continue
        declared = entry.data["members"]
        assert isinstance(declared, list)
        for index, row in enumerate(table.rows):
            if missing := [name for name in declared if name not in row.then]:
                yield entry, ("rows", index), f"{row.id} lacks {names(missing)}", "add it"
            if extra := [name for name in row.then if name not in declared]:
                path: Path = ("rows", index, extra[0])
                yield entry, path, f"{names(extra)} is not declared", "declare it under members"


@rule("limits-integer", "The value of a limit is a positive integer.")
def limits_integer(context: Context) -> Iterator[Problem]:
    for entry, table in context.each("table"):
        for index, row in enumerate(table.rows if table.id == "limits" else ()):
            value = row.then.get("value")
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                message = f"{row.id} is {names([value])}"
                yield entry, ("rows", index, "value"), message, "write a positive integer"
