"""Decision tables: typed condition columns, one decision per row, no first-match rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

Value = str | int | bool | None


@dataclass(frozen=True, slots=True)
class Row:
    """One row: `when` maps a column to the values it covers (a column that is left out covers all)."""

    id: str
    when: Mapping[str, tuple[Value, ...]]
    then: Mapping[str, object]
    source_rows: tuple[int, ...] = ()

    def covers(self, conditions: Mapping[str, Value]) -> bool:
        """Whether the row may apply; a condition that is not given does not rule it out."""
        return all(name not in conditions or conditions[name] in ok for name, ok in self.when.items())


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the specification: `kind` is `decision` (columns and rows) or `list` (rows only)."""

    id: str
    title: str
    source: str
    kind: str
    columns: Mapping[str, tuple[Value, ...]]
    rows: tuple[Row, ...]
    #: What was decided before: the same few conditions are asked over and over.
    _known: dict[tuple[tuple[str, Value], ...], Row] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def row(self, **conditions: Value) -> Row:
        """The one row for these conditions. A column may be left out where it makes no difference.

        Raises LookupError for an unknown column or value, a column that is needed, or no row.
        """
        asked = tuple(conditions.items())
        if (known := self._known.get(asked)) is not None:
            return known
        for name, value in asked:
            if name not in self.columns:
                raise LookupError(f"table {self.id} has no column {name}; it has {_names(self.columns)}")
            if value not in self.columns[name]:
                raise LookupError(f"table {self.id}, column {name}: {value!r} is none of {_names(self.columns[name])}")
        found = [row for row in self.rows if row.covers(conditions)]
        if len(found) == 1 and self._covered_by(found[0], conditions):
            self._known[asked] = found[0]
            return found[0]
        missing = [name for name in self.columns if name not in conditions]
        if missing:
            raise LookupError(f"table {self.id} needs {_names(missing)} as well to decide {conditions}")
        problem = "no row covers" if not found else f"rows {_names(r.id for r in found)} overlap for"
        raise LookupError(f"table {self.id}: {problem} {conditions}")

    def decide(self, **conditions: Value) -> Mapping[str, object]:
        """The decision for these conditions, `source_rows` included; raises like `row`."""
        return self.row(**conditions).then

    def combinations(self) -> Iterator[tuple[dict[str, Value], tuple[Row, ...]]]:
        """Every combination of column values with the rows that cover it (one each in a sound table)."""
        names = list(self.columns)
        for values in product(*self.columns.values()) if names else ():
            conditions = dict(zip(names, values, strict=True))
            yield conditions, tuple(row for row in self.rows if row.covers(conditions))

    def covering(self) -> tuple[dict[str, Value], ...]:
        """Conditions that together visit every row, and in it every value of every column."""
        chosen: list[dict[str, Value]] = []
        for row in self.rows if self.columns else ():
            domains = {name: row.when.get(name, every) for name, every in self.columns.items()}
            for turn in range(max(len(domain) for domain in domains.values())):
                conditions = {name: domain[turn % len(domain)] for name, domain in domains.items()}
                if conditions not in chosen:
                    chosen.append(conditions)
        return tuple(chosen)

    def _covered_by(self, row: Row, conditions: Mapping[str, Value]) -> bool:
        # Leaving a column out is allowed only if the row covers its whole domain.
        return all(set(ok) >= set(self.columns[name]) for name, ok in row.when.items() if name not in conditions)


def _names(values: object) -> str:
    return ", ".join(str(value) for value in values)  # type: ignore[attr-defined]
