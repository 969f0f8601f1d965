"""Key reservations: two history mutants for each requirement, and what looks like them and is allowed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.history import History
from tests.checkers import broken_keys as b
from tests.checkers.histories import (
    answer_says,
    at,
    changed,
    drop_row,
    history,
    met,
    named,
    reservation,
    row_becomes,
    told,
    without_kind,
    without_rows,
)

CONFLICT = "idempotency_conflict"


@pytest.mark.parametrize(
    ("requirement", "number"), [(r, n) for r, mutants in b.MUTANTS.items() for n in range(len(mutants))]
)
def test_a_mutant_is_named(requirement: str, number: int) -> None:
    assert requirement in named(b.MUTANTS[requirement][number]())


def _with_metadata(of: History) -> History:
    """Every conflict carries an observation without ids (conflict-metadata)."""
    nothing = {"classification": "not_attempted", "attempt": None, "original_request_id": None}
    nothing |= {"replayed": False, "cause": CONFLICT}  # type: ignore[dict-item]
    events = list(of.events)
    for n, event in enumerate(events):
        if event.kind == "answer" and event.data.get("result", {}).get("error", {}).get("code") == CONFLICT:
            events[n] = replace(event, data={**event.data, "result": {**event.data["result"], "mutation": nothing}})
    return replace(of, events=tuple(events))


@pytest.mark.parametrize("schedule", [b.OTHER, b.RIVAL, b.LASTS, b.AGES, b.UNTRUSTED, b.APPROVED])
def test_near_miss_conflicts_that_carry_an_observation_without_ids(schedule: str) -> None:
    # KEY-034, KEY-035, KEY-038, RET-025, RET-037, REPLAY-003, REPLAY-008, REPLAY-030, REPLAY-041
    assert named(_with_metadata(history(schedule))) == set()


def test_near_miss_one_conflict_alone_says_more() -> None:
    # Where another request of the same caller hears another conflict, the two are compared; alone nothing is.
    h = history(b.RIVAL)
    result = {**h.events[told(h, "q1")].data["result"], "error": {"code": CONFLICT, "message": "taken"}}
    assert named(changed(h, told(h, "q1"), result=result)) == set()


@pytest.mark.parametrize("schedule", [b.OTHER, b.NAMES, b.SPELL, b.UNSEEN, b.APPROVED, b.DENIED, b.WAIT])
def test_near_miss_a_black_box(schedule: str) -> None:
    # Without rows less is seen, and nobody is accused for it.
    assert named(without_rows(history(schedule))) == set()


def test_a_black_box_meets_what_wire_and_answers_show() -> None:
    assert "reused" in met(without_rows(history(b.OTHER)), "KEY-034")
    assert "case" in met(without_rows(history(b.SPELL)), "KEY-025")
    assert {"caller", "receiver"} <= met(without_rows(history(b.NAMES)), "REPLAY-039")
    assert met(without_rows(history(b.LASTS)), "RET-015") == set()


@pytest.mark.parametrize("schedule", [b.OTHER, b.NAMES, b.LASTS, b.EXPIRY, b.UNTRUSTED])
def test_near_miss_a_driver_that_shows_no_reservations(schedule: str) -> None:
    assert named(without_kind(history(schedule), "reservations")) == set()


def test_near_miss_a_generation_is_deleted_when_its_time_is_over() -> None:
    # RET-003, RET-008, RET-011, KEY-008: expired-state-representation.
    h = history(b.EXPIRY)
    assert named(drop_row(h, reservation(h, "q1"), told(h, "q4"))) == set()


def test_near_miss_a_timed_out_wait_shows_no_ids() -> None:
    # REPLAY-013, RET-007: waiter-replayed-flag.
    h = history(b.AGES)
    place = told(h, "q3")
    result = h.events[place].data["result"]
    blank = {**result["mutation"], "attempt": None, "original_request_id": None, "replayed": False}
    assert named(changed(h, place, result={**result, "mutation": blank})) == set()


def test_near_miss_quarantine_follows_with_recovery() -> None:
    # RET-014, RET-015, REPLAY-054: quarantine-atomicity.
    h = history(b.LOST)
    follows = at(h, "answer", "e1")
    assert named(row_becomes(h, reservation(h, "q1"), told(h, "q1"), follows, state="Pending")) == set()


def test_near_miss_times_that_trusted_time_stamps_later() -> None:
    # RET-008, RET-010, RET-016, RET-037: settlement-without-trusted-time, times-left-open.
    h = history(b.UNTRUSTED)
    mine, settled, repaired = reservation(h, "q1"), told(h, "q1"), at(h, "answer", "r1")
    assert named(row_becomes(h, mine, settled, repaired, state="Replayable")) == set()


def test_near_miss_settled_at_a_tick_later() -> None:
    # RET-010: a host's clock runs ahead of the suite's base by its own reads.
    h = history(b.PLAIN)
    late = {"settled_at": b.EPOCH_MS + 40, "replay_expires_at": b.EPOCH_MS + 40 + b.RETENTION_MS}
    assert named(row_becomes(h, reservation(h, "q1"), **late)) == set()


@pytest.mark.parametrize("schedule", [b.DENIED, b.UNSEEN])
def test_near_miss_denials_by_another_code(schedule: str) -> None:
    # REPLAY-016, REPLAY-017, REPLAY-047, REPLAY-057: what is fixed is that the refusals say nothing of the original.
    h = history(schedule)
    events = list(h.events)
    for n, event in enumerate(events):
        error = event.data.get("result", {}).get("error", {}) if event.kind == "answer" else {}
        if error.get("code") == "forbidden":
            other = {**event.data["result"], "error": {"code": "not_found"}}
            events[n] = replace(event, data={**event.data, "result": other})
    assert {n for n in named(replace(h, events=tuple(events))) if n.startswith("REPLAY")} == set()


def test_near_miss_a_late_winner_is_observed() -> None:
    # REPLAY-032: the candidate that lacks its claim may as well have read the index after the winner came.
    h = history(b.LATE)
    assert {n for n in named(answer_says(h, told(h, "q1"), "applied", None)) if n.startswith("REPLAY")} == set()


def test_near_miss_a_candidate_that_got_through_before_its_access_went() -> None:
    # REPLAY-037: what it was admitted to is not called back, and nothing of it is a refusal.
    h = history("mutation/recheck/w1.invoke.spend:begin#1@pause+revoked/continue")
    assert h.events[told(h, "q1")].data["result"]["mutation"]["classification"] == "applied"
    assert met(h, "REPLAY-037") == set()
    assert met(history(b.FREED), "REPLAY-037") == {"free"}


def test_near_miss_a_refusal_that_no_winner_preceded() -> None:
    # REPLAY-028, REPLAY-036, REPLAY-038: with the store up and the key free the candidate hears its own refusal.
    assert met(history("mutation/recheck-unreadable"), "REPLAY-036") == set()
    assert met(history("mutation/recheck-late-winner"), "REPLAY-028") == set()
