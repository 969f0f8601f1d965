"""The specification agrees with what somebody else transcribed from the sources without seeing it.

Each comparison is also shown to be able to fail: every edge, prohibition, coupling, row and limit is taken in
turn, removed or turned into something else, and the comparison must notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from statemachines.model import Lifecycle
from statemachines.spec import load
from statemachines.table import Row, Table

GOLDEN = Path(__file__).parents[1] / "golden"
SPEC = load()
ATTEMPT, KEY = SPEC.lifecycles["mutation_attempt"], SPEC.lifecycles["key_reservation"]
APPROVAL = SPEC.lifecycles["approval"]
OUTCOME, OBSERVED = SPEC.tables["mutation_outcome"], SPEC.tables["mutation_observed"]
BOUNDARY = SPEC.tables["replay_boundary"]

# The transcription takes an old record without a fence for a matter of classification; the specification keeps it
# as a creation of the row, because the source lets recovery settle it as Indeterminate (§4, recovery paragraph).
LEGACY = (None, "Indeterminate")

# Names of the same limits in the two files.
LIMITS = {
    "replay_retention_s": "replay_retention",
    "request_bytes": "request_bytes",
    "request_bytes_generic": "request_bytes_generic",
    "service_deadline_s": "service_deadline",
    "service_deadline_generic_s": "execution_deadline_generic",
    "provider_deadline_generic_s": "provider_deadline_generic",
    "connect_deadline_generic_s": "connect_deadline_generic",
    "waiter_s": "waiter_deadline",
    "max_waiters": "waiters_per_attempt",
    "grant_window_s": "grant_window",
}


def golden(name: str) -> dict[str, Any]:
    data = yaml.safe_load((GOLDEN / f"{name}.yaml").read_text(encoding="utf-8"))
    assert isinstance(data, dict)
    return data


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def lifecycle_differences(lc: Lifecycle) -> set[object]:
    """Everything in which a lifecycle and its transcription differ."""
    data = golden(f"{lc.id}_edges")
    edges = {(row["from"], row["to"]) for row in data["allowed"]}
    never = {(row["from"], row["to"]) for row in data["forbidden"]}
    if lc.id == ATTEMPT.id:
        edges, never = edges | {LEGACY}, never - {LEGACY}
    mine = {pair for pair in lc.forbidden if pair[1] is not None}
    found: set[object] = (lc.edges ^ edges) | (mine ^ never) | (lc.terminal ^ set(data["terminal"]))
    found |= set(lc.states) ^ set(data["states"]) | {lc.initial} ^ {data["initial"]}
    occupying = {name for name, state in lc.states.items() if state.occupies}
    return found | (occupying ^ set(data.get("live", [])))


def coupling_differences(key: Lifecycle) -> set[object]:
    said = {"steady": "atomic", "lag": "recovery"}
    wanted = {
        (row["reservation"], row["attempt"], said[row["may"]])
        for row in golden("key_reservation_edges")["pairs"]
        if row["may"] != "never"
    }
    mine = {(c.state, other, c.how) for c in key.couplings if c.other == ATTEMPT.id for other in c.states}
    return set(mine ^ wanted)


def outcome_differences(table: Table) -> set[object]:
    """Golden rows 1 to 10 and 12 by what the observer knows; row 11 is the replay of a row's state."""
    found: set[object] = set()
    placed: dict[int, set[str]] = {}
    for row in table.rows:
        for number in row.source_rows:
            placed.setdefault(number, set()).add(row.id)
    for row in golden("mutation_outcome")["rows"]:
        if row["row"] == 11:
            continue
        for gate in listed(row["gate"]):
            mine = table.row(gate=gate, evidence=row["provider"])
            states = [case["state"] for case in row.get("cases", []) if case["gate"] == gate] or listed(row["state"])
            checks = {
                "row": row["row"] in mine.source_rows,
                "possible": mine.then["possible"] is True,
                # Abort may be durable or, for a row that never came to be, absent.
                "state": mine.then["state"] in states,
                "classification": mine.then["classification"] == row["classification"],
                "code": (mine.then["code"] == "outcome_unknown") == (row["code"] == "outcome_unknown"),
            }
            found |= {(row["row"], gate, name) for name, good in checks.items() if not good}
            placed.get(row["row"], set()).discard(mine.id)
    found |= {(number, name) for number, names in placed.items() if number != 11 for name in names}
    reachable = {
        (g, p) for r in golden("mutation_outcome")["rows"][:10] for g in listed(r["gate"]) for p in [r["provider"]]
    }
    for conditions, rows in table.combinations():
        possible = [row.then["possible"] for row in rows]
        if possible != [(conditions["gate"], conditions["evidence"]) in reachable | {("uncertain", "none")}]:
            found.add(("possible", *conditions.values()))
    return found


def observed_differences(table: Table) -> set[object]:
    replay = golden("mutation_outcome")["rows"][10]
    found: set[object] = set()
    for case in replay["cases"]:
        said = table.decide(state=case["original"])
        if said["classification"] != case["classification"] or said["code"] not in listed(case["code"]):
            found.add(case["original"])
    for state in ("Prepared", "Dispatching"):
        said = table.decide(state=state)
        if (said["classification"], said["code"]) != ("unknown", "outcome_unknown"):
            found.add(state)
    return found


def boundary_differences(table: Table) -> set[object]:
    """Each golden row, spread over every combination that it names, against the table's action."""
    found: set[object] = set()
    seen: set[tuple[int, str]] = set()
    for row in golden("replay_boundary")["rows"]:
        domains = [table.columns[c] if row[c] == "any" else listed(row[c]) for c in table.columns]
        for values in product(*domains):
            conditions = dict(zip(table.columns, values, strict=True))
            mine = table.row(**conditions)
            # At a recheck the candidate's own refusal stands where a lookup would find a new candidate.
            wanted = (
                ("new_candidate", "retire_then_candidate") if row["action"] == "original_refusal" else (row["action"],)
            )
            if mine.then["action"] not in wanted:
                found.add((row["row"], row["case"], *values))
            seen.add((row["row"], mine.id))
    for mine in table.rows:
        found |= {(number, mine.id) for number in mine.source_rows if (number, mine.id) not in seen}
    numbers = {number for row in table.rows for number in row.source_rows}
    return found | (numbers ^ set(range(1, 11)))


def limit_differences(limits: Mapping[str, int]) -> set[object]:
    wanted = {row["id"]: row.get("bytes", row["value"]) for row in golden("limits")["limits"]}
    found: set[object] = {name for name in limits if name not in LIMITS}
    return found | {name for name, theirs in LIMITS.items() if limits.get(name) != wanted[theirs]}


def test_lifecycles_agree() -> None:
    assert lifecycle_differences(ATTEMPT) == set()
    assert lifecycle_differences(KEY) == set()
    assert lifecycle_differences(APPROVAL) == set()
    assert coupling_differences(KEY) == set()


def test_tables_agree() -> None:
    assert outcome_differences(OUTCOME) == set()
    assert observed_differences(OBSERVED) == set()
    assert boundary_differences(BOUNDARY) == set()


def test_limits_agree() -> None:
    assert limit_differences(SPEC.limits) == set()


def test_codes_agree() -> None:
    mine = {row.id for row in SPEC.tables["codes"].rows}
    text = (GOLDEN / "codes.yaml").read_text(encoding="utf-8")
    assert [name for name in sorted(mine) if name not in text] == []


@pytest.mark.parametrize("lc", [ATTEMPT, KEY, APPROVAL], ids=lambda lc: lc.id)
def test_a_lost_or_bent_edge_is_noticed(lc: Lifecycle) -> None:
    for edge in lc.edges:
        assert lifecycle_differences(replace(lc, edges=lc.edges - {edge}))
        for dest in lc.states:
            if (edge[0], dest) not in lc.edges:
                assert lifecycle_differences(replace(lc, edges=lc.edges - {edge} | {(edge[0], dest)}))
    for pair in lc.forbidden:
        if pair[1] is not None:
            assert lifecycle_differences(replace(lc, forbidden=lc.forbidden - {pair}))
    for state in lc.terminal:
        assert lifecycle_differences(replace(lc, terminal=lc.terminal - {state}))


def test_a_lost_or_bent_coupling_is_noticed() -> None:
    for index, coupling in enumerate(KEY.couplings):
        others = KEY.couplings[:index] + KEY.couplings[index + 1 :]
        assert coupling_differences(replace(KEY, couplings=others))
        bent = replace(coupling, how="recovery" if coupling.how == "atomic" else "atomic")
        assert coupling_differences(replace(KEY, couplings=(*others, bent)))


def bent(table: Table, member: str) -> Iterator[tuple[str, Table]]:
    """The table with one decision of one row replaced by each other value that the member ever has."""
    values = {row.then[member] for row in table.rows}
    for index, row in enumerate(table.rows):
        for value in values - {row.then[member]}:
            rows = (*table.rows[:index], Row(row.id, row.when, {**row.then, member: value}, row.source_rows))
            yield f"{row.id} {value}", replace(table, rows=(*rows, *table.rows[index + 1 :]))


@pytest.mark.parametrize("member", ["state", "classification", "possible"])
def test_a_bent_outcome_is_noticed(member: str) -> None:
    impossible = "evidence_without_open_gate"
    missed = [name for name, table in bent(OUTCOME, member) if not outcome_differences(table)]
    # What an impossible row decides means nothing, so only its `possible` can be wrong.
    assert [name for name in missed if not name.startswith(impossible) or member == "possible"] == []


def test_a_bent_observation_or_boundary_decision_is_noticed() -> None:
    assert [name for name, table in bent(OBSERVED, "classification") if not observed_differences(table)] == []
    assert [name for name, table in bent(BOUNDARY, "action") if not boundary_differences(table)] == []


@pytest.mark.parametrize("name", SPEC.limits)
def test_a_changed_or_lost_limit_is_noticed(name: str) -> None:
    assert limit_differences({**SPEC.limits, name: SPEC.limits[name] + 1}) == {name}
    assert name in limit_differences({key: value for key, value in SPEC.limits.items() if key != name})
