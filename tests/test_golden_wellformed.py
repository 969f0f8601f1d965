"""The golden transcriptions are whole and free of contradiction; other tests compare the spec with them."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.glob("*.yaml"))
MACHINES = [
    *("mutation_attempt", "key_reservation", "approval", "remote_link", "create_attempt"),
    *("lane_event", "work_item", "settle_generation"),
]


def load(name: str) -> dict[str, Any]:
    document = yaml.safe_load((GOLDEN / f"{name}.yaml").read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def edges(machine: dict[str, Any], section: str) -> list[tuple[str | None, str]]:
    return [(row["from"], row["to"]) for row in machine.get(section, [])]


def states_of(machine: dict[str, Any]) -> list[str]:
    states: list[str] = machine.get("table_states") or machine["states"]
    return states


def rows_with_a_place(node: Any) -> Iterator[dict[str, Any]]:
    """Every mapping in a list of rows, at any depth, except the split cases of a row that has a place."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key != "cases" and not (key in {"allowed", "forbidden"} and "where" in node):
                yield from rows_with_a_place(value)
    elif isinstance(node, list):
        for value in node:
            if isinstance(value, dict):
                yield value
            yield from rows_with_a_place(value)


def test_the_agreed_files_exist() -> None:
    assert {path.stem for path in FILES} == {f"{name}_edges" for name in MACHINES} | {
        "mutation_outcome",
        "replay_boundary",
        "limits",
        "codes",
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_file_opens_with_a_comment_and_every_row_names_its_place(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# ")
    rows = list(rows_with_a_place(load(path.stem)))
    assert rows
    assert [row for row in rows if "L" not in row.get("where", "")] == []


@pytest.mark.parametrize("name", MACHINES)
def test_every_ordered_pair_is_decided_exactly_once(name: str) -> None:
    machine = load(f"{name}_edges")
    states = states_of(machine)
    decided = [pair for section in ("allowed", "forbidden", "contested") for pair in edges(machine, section)]
    assert len(decided) == len(set(decided))
    assert set(decided) == set(product([None, *states], states))


@pytest.mark.parametrize("name", MACHINES)
def test_creation_is_the_initial_state_and_every_state_is_reached(name: str) -> None:
    machine = load(f"{name}_edges")
    allowed = edges(machine, "allowed")
    begins = [row["to"] for row in machine["allowed"] if row["from"] is None and not row.get("besides")]
    assert begins == [machine["initial"]]
    reached = {machine["initial"]}
    for _ in states_of(machine):
        reached |= {to for source, to in allowed if source in reached}
    assert reached == set(states_of(machine))


@pytest.mark.parametrize("name", MACHINES)
def test_states_without_an_exit_are_the_declared_ones(name: str) -> None:
    machine = load(f"{name}_edges")
    declared = machine.get("no_next_state") or machine["terminal"]
    leaving = {source for source, _ in edges(machine, "allowed")}
    assert set(states_of(machine)) - leaving == set(declared)


def test_every_pair_of_reservation_and_attempt_is_judged() -> None:
    reservation, attempt = load("key_reservation_edges"), load("mutation_attempt_edges")
    judged = [(row["reservation"], row["attempt"]) for row in reservation["pairs"]]
    assert sorted(judged) == sorted(product(reservation["states"], attempt["states"]))
    assert {row["may"] for row in reservation["pairs"]} == {"steady", "lag", "never"}


def test_outcome_rows_are_twelve_in_order_and_use_the_vocabulary() -> None:
    rows = load("mutation_outcome")["rows"]
    words = set(load("codes")["classifications"])
    states = set(load("mutation_attempt_edges")["states"])
    assert [row["row"] for row in rows] == list(range(1, 13))
    for row in rows:
        assert values(row["gate"]) <= {"unreached", "fenced", "uncertain", "open"}
        assert values(row["provider"]) <= {"none", "success", "refusal", "ambiguous"}
        assert values(row["classification"]) <= words
        assert values(row["state"]) <= states | {None}
        assert values(row["code"]) <= {None, "outcome_unknown", "refusal"}


def test_an_unknown_outcome_always_carries_its_code() -> None:
    simple = [row for row in load("mutation_outcome")["rows"] if row["row"] != 11]
    assert {row["row"] for row in simple if row["classification"] == "unknown"} == {5, 6, 7, 10, 12}
    assert {row["row"] for row in simple if row["code"] == "outcome_unknown"} == {5, 6, 7, 10, 12}


def test_boundary_rows_cover_the_ten_source_rows_and_never_decide_twice() -> None:
    rows = load("replay_boundary")["rows"]
    assert list(dict.fromkeys(row["row"] for row in rows)) == list(range(1, 11))
    for index, one in enumerate(rows):
        for other in rows[index + 1 :]:
            if one["action"] != other["action"] and one["point"] == other["point"]:
                assert not overlap(one, other), (one["row"], one["case"], other["row"], other["case"])


def test_retention_points_follow_from_the_retention_limit() -> None:
    limits = load("limits")
    retention = next(row for row in limits["limits"] if row["id"] == "replay_retention")
    for point in limits["retention_points"]:
        assert point["replayable"] == (point["after_ms"] < retention["milliseconds"])


def test_limit_ids_are_unique_and_conversions_are_right() -> None:
    rows = load("limits")["limits"]
    assert len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        if "milliseconds" in row:
            assert row["milliseconds"] == row["value"] * 1000
        if "bytes" in row:
            assert row["bytes"] == row["value"] * 1024


def test_every_attempt_state_has_the_classification_of_the_replay_row() -> None:
    by_state = {row["state"]: row["classification"] for row in load("codes")["classification_of_state"]}
    replay = next(row for row in load("mutation_outcome")["rows"] if row["row"] == 11)
    assert by_state == {case["original"]: case["classification"] for case in replay["cases"]}
    assert set(by_state) == set(load("mutation_attempt_edges")["terminal"])


def values(cell: Any) -> set[Any]:
    return set(cell) if isinstance(cell, list) else {cell}


def overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Can one observation fit both rows? `any` fits everything, and a list fits each of its members."""
    for column in ("access", "revision", "index", "reservation", "fingerprint"):
        left, right = values(one[column]), values(other[column])
        if "any" not in left | right and not left & right:
            return False
    return True
