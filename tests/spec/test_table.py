"""Decision tables: one answer, or one clear sentence why there is none."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statemachines.lint.tables import hole, meet
from statemachines.spec import load
from statemachines.table import Row, Table

TABLES = {name: table for name, table in load().tables.items() if table.kind == "decision"}
OUTCOME, BOUNDARY = TABLES["mutation_outcome"], TABLES["replay_boundary"]


@pytest.mark.parametrize("name", TABLES)
def test_every_combination_has_one_row(name: str) -> None:
    assert all(len(rows) == 1 for _, rows in TABLES[name].combinations())


@pytest.mark.parametrize("name", TABLES)
def test_covering_visits_every_row_and_every_value_of_it(name: str) -> None:
    table = TABLES[name]
    seen = [(table.row(**conditions), conditions) for conditions in table.covering()]
    for row in table.rows:
        for column, domain in table.columns.items():
            mine = {conditions[column] for found, conditions in seen if found is row}
            assert mine == set(row.when.get(column, domain))


def test_outcomes_that_carry_the_profile() -> None:
    assert OUTCOME.decide(gate="open", evidence="success")["classification"] == "applied"
    assert OUTCOME.decide(gate="open", evidence="none")["state"] == "Indeterminate"
    uncertain = OUTCOME.decide(gate="uncertain", evidence="none")
    assert (uncertain["classification"], uncertain["code"], uncertain["state"]) == (
        "unknown",
        "outcome_unknown",
        None,
    )
    assert OUTCOME.decide(gate="fenced", evidence="refusal")["possible"] is False


def test_all_rows_of_the_sources_tables_are_named() -> None:
    assert {n for row in OUTCOME.rows for n in row.source_rows} == set(range(1, 13))
    assert {n for row in BOUNDARY.rows for n in row.source_rows} == set(range(1, 11))


def test_a_column_may_be_left_out_where_it_makes_no_difference() -> None:
    assert BOUNDARY.decide(access="denied")["action"] == "refuse_access"
    with pytest.raises(LookupError, match="needs fingerprint as well"):
        BOUNDARY.decide(access="current", revision="current", index="readable", reservation="pending")


@pytest.mark.parametrize(
    ("conditions", "words"),
    [({"gat": "open"}, "has no column gat; it has gate, evidence"),
     ({"gate": "ajar"}, "'ajar' is none of unreached")],
)  # fmt: skip
def test_a_wrong_question_gets_one_sentence(conditions: dict[str, str], words: str) -> None:
    with pytest.raises(LookupError, match=words):
        OUTCOME.decide(**conditions)


def test_a_table_with_a_hole_or_an_overlap_does_not_guess() -> None:
    columns = {"a": (1, 2)}
    one, two = Row("one", {"a": (1,)}, {}), Row("two", {"a": (1, 2)}, {})
    with pytest.raises(LookupError, match="no row covers"):
        Table("t", "", "", "decision", columns, (one,)).decide(a=2)
    with pytest.raises(LookupError, match="rows one, two overlap"):
        Table("t", "", "", "decision", columns, (one, two)).decide(a=1)


COLUMNS = {"a": (0, 1, 2), "b": ("x", "y"), "c": (True, False)}
ROWS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            name: st.lists(st.sampled_from(values), min_size=1, unique=True).map(tuple)
            for name, values in COLUMNS.items()
        },
    ),
    max_size=6,
)


@given(ROWS)
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_hole_and_overlap_agree_with_counting(conditions: list[dict[str, tuple[object, ...]]]) -> None:
    rows = tuple(Row(f"r{n}", when, {}) for n, when in enumerate(conditions))  # type: ignore[arg-type]
    table = Table("t", "", "", "decision", COLUMNS, rows)
    counts = [len(found) for _, found in table.combinations()]
    found = hole(table)
    assert (found is not None) == (0 in counts)
    if found is not None:
        free = [name for name in COLUMNS if name not in found]
        for values in product(*(COLUMNS[name] for name in free)):
            assert not any(row.covers({**found, **dict(zip(free, values, strict=True))}) for row in rows)
    overlap = any(meet(one, two) for n, one in enumerate(rows) for two in rows[:n])
    assert overlap == any(count > 1 for count in counts)
