"""Checkers in the seams between actors: tokens that repeat, a recovery that has scanned, contracts and ids of today.

As in ``test_checkers``: a mutant is a passing history in which the requirement is broken by hand, a near miss is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from conformance.families.connector_push.commands import delete, operate, restore, save, work, write
from conformance.families.connector_push.config import ASYNC, CONFIG, FOLDED, PAST_LEASE_MS, REPLAY, ROTATED
from conformance.families.connector_push.edits import contract_declared, edited, key_header
from conformance.history import Event, History
from conformance.outcome import weigh
from conformance.search.program import Op, Program, kill, script, start, time
from tests.push.runs import FAMILY
from tests.push.runs import history as run
from tests.push.test_checkers import AFTER, SAVE, Edit, Rows, again, crash, rows, violations

WRITTEN = (start("w1"), write("w1", "r1"))
BOTH = (*WRITTEN, write("w1", "r2"))
PAUSE = {"nth": 1, "action": "pause"}

TAKEN_ON = {
    **crash("operate.reconcile:committed", "w2").args,
    "changes": [["create_attempt", "ambiguous_remote_effect", "writeback_pending"]],
}


def answered(*ids: str) -> Op:
    return script(*({"kind": "success", "identity": id_} for id_ in ids))


#: name -> configuration and ops of a history that the reference passes.
PASSING: Mapping[str, tuple[Mapping[str, Any], tuple[Op, ...]]] = {
    # w2 stands behind its claim, and w3, which has the claim by now, ahead of its checkpoint.
    "both-paused": (
        ASYNC,
        (
            *SAVE,
            start("w2"),
            Op("arm", {"proc": "w2", "point": "dispatch.claim:committed", **PAUSE}),
            work("w2"),
            time(PAST_LEASE_MS),
            start("w3"),
            Op("arm", {"proc": "w3", "point": "dispatch.checkpoint:begin", **PAUSE}),
            work("w3"),
            Op("resume", {"proc": "w2"}),
            Op("resume", {"proc": "w3"}),
            *AFTER,
        ),
    ),
    "scanned": (
        ASYNC,
        (
            *SAVE,
            script("hold"),
            start("w2"),
            Op("arm", {"proc": "w2", "point": "dispatch.checkpoint:begin", **PAUSE}),
            work("w2"),
            time(PAST_LEASE_MS),
            start("w3"),
            Op("arm", {"proc": "w3", "point": "reclaim.expired:begin", **PAUSE}),
            work("w3"),
            Op("resume", {"proc": "w2"}),
            Op("resume", {"proc": "w3"}),
            *AFTER,
        ),
    ),
    "declared": (
        CONFIG,
        (
            *WRITTEN,
            script("hold"),
            save("w1", "r1"),
            kill("w1"),
            time(PAST_LEASE_MS),
            start("w2", edited(CONFIG, contract_declared)),
            work("w2"),
            *AFTER,
        ),
    ),
    "header-edited": (
        REPLAY,
        (*SAVE, script("apply-then-drop"), work("w1"), start("w2", edited(REPLAY, key_header)), work("w2"), *AFTER),
    ),
    "restored": (
        ASYNC,
        (*SAVE, delete("w1", "r1"), work("w1"), restore("w1", "r1"), start("w2"), save("w2", "r1"), *AFTER),
    ),
    "given-up": (ASYNC, (*SAVE, start("w2", ROTATED), operate("w2", "give_up", "r1"), save("w2", "r1"), *AFTER)),
    "spelled": (FOLDED, (*BOTH, answered("x9", "X9"), save("w1", "r1"), save("w1", "r2"), *AFTER)),
    "two-spellings": (CONFIG, (*BOTH, answered("X9", "x9"), save("w1", "r1"), save("w1", "r2"), *AFTER)),
    "owned-by-another": (
        FOLDED,
        (
            *BOTH,
            script({"kind": "success", "identity": "x9"}, "apply-then-drop"),
            save("w1", "r1"),
            save("w1", "r2"),
            operate("w1", "reconcile", "r2", remote_id="X9"),
            work("w1"),
            *AFTER,
        ),
    ),
    "reconciled": (
        CONFIG,
        (
            script("apply-then-drop"),
            *SAVE,
            start("w2"),
            Op("arm", TAKEN_ON),
            operate("w2", "reconcile", "r1", remote_id="x7"),
            *AFTER,
        ),
    ),
}


@cache
def passing(name: str) -> History:
    config, ops = PASSING[name]
    found = run(Program(f"seams/{name}", FAMILY.id, config, ops, {}))
    assert violations(found) == {}
    return found


def changed(name: str, edit: Edit) -> History:
    events = edit(list(passing(name).events))
    return replace(passing(name), events=tuple(replace(e, seq=n) for n, e in enumerate(events)))


def one_token(kinds: Rows) -> None:
    """Every claim of an attempt has the token that the first one had."""
    for row in kinds["attempts"]:
        row["claim"] = row["claim"] and f"{row['attempt']}-1"


def sent_by_the_first(events: list[Event]) -> list[Event]:
    """What w3 sent is sent by w2, as soon as it goes on."""
    sent = [e for e in events if e.cls == "wire" or e.kind == "meaning"]
    kept = [e for e in rows(one_token)(events) if e not in sent]
    resumed = next(n for n, e in enumerate(kept) if e.kind == "resumed" and e.proc == "w2")
    return [*kept[: resumed + 1], *(replace(e, proc="w2") for e in sent), *kept[resumed + 1 :]]


def goes_on(event: Event) -> bool:
    return event.kind == "resumed" and event.proc == "w3"


def late(event: Event) -> bool:
    return bool(event.data["why"] == "end")


def repeated(**members: Any) -> Edit:
    """The second request of a history has other members."""

    def edit(events: list[Event]) -> list[Event]:
        return [
            replace(e, data={**e.data, **members}) if e.kind == "request" and e.data["conn"] == 2 else e for e in events
        ]

    return edit


def under_another_header(events: list[Event]) -> list[Event]:
    key = next(e.data["key"] for e in events if e.kind == "request")
    return repeated(key=f"x-request-key {key}")(events)


def second_attempt(kinds: Rows) -> None:
    for row in kinds["attempts"][:1]:
        fresh = {"attempt": "other", "state": "pending", "reason": None, "ordinal": 2}
        kinds["attempts"].append({**row, **fresh})


def with_the_last_answer(events: list[Event]) -> list[Event]:
    last = max(e.seq for e in events if e.cls == "rows" and e.data["why"] == "after answer")
    return rows(second_attempt, when=lambda e: e.seq == last)(events)


def second_link(kinds: Rows) -> None:
    """The other record has a link, under the id as it was spelled."""
    for row in kinds["links"][:1]:
        told = "x9" if row["remote_id"] == "X9" else "X9"
        fresh = {"link": "other", "link_key": "other", "record": "r2", "attempt": "other"}
        kinds["links"].append({**row, **fresh, "remote_id": told, "canonical_id": told})


def done_without_link(kinds: Rows) -> None:
    for row in kinds["attempts"]:
        if row["record"] == "r2":
            row["state"] = "finalized"


def parked(kinds: Rows) -> None:
    for row in kinds["attempts"]:
        if row["record"] == "r2" and row["state"] == "terminal_failed":
            row["state"] = "writeback_pending"


def no_link(kinds: Rows) -> None:
    kinds["links"].clear()


def no_link_ahead_of_the_worker(events: list[Event]) -> list[Event]:
    def waiting(event: Event) -> bool:
        return any(row["state"] == "writeback_pending" for row in event.data["kinds"]["attempts"])

    return rows(no_link, when=waiting)(events)


#: requirement, the passing history, and what is done to it.
MUTANTS: tuple[tuple[str, str, Edit], ...] = (
    ("ATT-015", "both-paused", sent_by_the_first),
    ("POST-032", "scanned", again(after=goes_on, proc="w3")),
    ("POST-032", "declared", again(after=lambda e: e.kind == "answer", command="push.work", key="k")),
    ("POST-034", "header-edited", under_another_header),
    ("POST-023", "restored", with_the_last_answer),
    ("POST-023", "given-up", with_the_last_answer),
    ("DRIFT-092", "spelled", rows(second_link, when=late)),
    ("DRIFT-092", "owned-by-another", rows(second_link, when=late)),
    ("DRIFT-092", "owned-by-another", rows(done_without_link, when=late)),
    ("POST-031", "reconciled", rows(no_link, when=late)),
)

#: requirement, the passing history, and an edit that must not be held against it.
NEAR_MISSES: tuple[tuple[str, str, Edit], ...] = (
    # Tokens may repeat, as long as the worker whose claim is lost sends nothing.
    ("ATT-015", "both-paused", rows(one_token)),
    # Under a contract the same key under the same header is a permitted repetition, whatever the profile names by now.
    ("POST-034", "header-edited", rows(lambda _: None)),
    # Another key is no repetition of the frozen request: that is POST-032.
    ("POST-034", "header-edited", repeated(key="x-request-key another")),
    ("POST-034", "header-edited", repeated(key=None)),
    # A superseded attempt frees its slot.
    ("POST-023", "given-up", rows(lambda kinds: [row.update(state="superseded") for row in kinds["attempts"]])),
    # Where spellings count, two spellings are two ids.
    ("DRIFT-092", "two-spellings", rows(lambda _: None)),
    # An id may be kept in either spelling.
    (
        "DRIFT-092",
        "spelled",
        rows(lambda kinds: [row.update(remote_id=row["remote_id"] and "x9") for row in kinds["attempts"]]),
    ),
    # An id that belongs to another record, in whichever spelling, may leave its attempt parked without a link.
    ("POST-031", "spelled", rows(parked)),
    # Behind a reconciliation the link may come with the next worker.
    ("POST-031", "reconciled", no_link_ahead_of_the_worker),
)


@pytest.mark.parametrize(("requirement", "name", "edit"), MUTANTS, ids=lambda v: v if isinstance(v, str) else "")
def test_an_edited_history_fails(requirement: str, name: str, edit: Edit) -> None:
    assert requirement in violations(changed(name, edit))


@pytest.mark.parametrize(("requirement", "name", "edit"), NEAR_MISSES, ids=lambda v: v if isinstance(v, str) else "")
def test_a_near_miss_passes(requirement: str, name: str, edit: Edit) -> None:
    assert requirement not in violations(changed(name, edit))


#: The cell that each history is there for.
CELLS = {
    "scanned": "POST-032/recovery-under-way",
    "declared": "POST-032/declared-after-crash",
    "restored": "POST-023/record-restored",
    "given-up": "POST-023/given-up",
    "spelled": "DRIFT-092/spelled",
    "owned-by-another": "DRIFT-092/reconciled",
    "reconciled": "POST-031/reconciled",
}


@pytest.mark.parametrize("name", CELLS)
def test_a_history_meets_its_cell(name: str) -> None:
    requirement, cell = CELLS[name].split("/")
    assert weigh(FAMILY, passing(name), {}).met[requirement].get(cell)


def test_two_spellings_are_two_links_where_spellings_count() -> None:
    *_, last = passing("two-spellings").of("rows")
    assert sorted(row["remote_id"] for row in last.data["kinds"]["links"]) == ["X9", "x9"]
