"""Each checker can fail, and does not fail too much: passing histories, edited by hand.

A mutant is a history in which the requirement is broken; a near miss looks alike and is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from conformance.families.connector_push.commands import delete, operate, save, work, write
from conformance.families.connector_push.config import ASYNC, CONFIG, PAST_LEASE_MS, REPLAY
from conformance.history import Event, History
from conformance.judge import judge
from conformance.search.program import RESTART, SETTLE, Op, Program, kill, recover, script, start, time
from tests.push.runs import FAMILY, history, outcomes
from tests.push.runs import history as run

Rows = dict[str, list[dict[str, Any]]]
Edit = Callable[[list[Event]], list[Event]]

SAME = {"kind": "success", "identity": "x9"}
SAVE = (start("w1"), write("w1", "r1"), save("w1", "r1"))
AFTER = (start("e1"), recover("e1"), time(PAST_LEASE_MS), work("e1"), SETTLE, save("e1", "r1"))


def crash(point: str, proc: str = "w1") -> Op:
    return Op("arm", {"proc": proc, "point": point, "nth": 1, "action": "crash"})


#: name -> configuration and ops of a history that the reference passes.
PASSING: Mapping[str, tuple[Mapping[str, Any], tuple[Op, ...]]] = {
    "plain": (CONFIG, (*SAVE, *AFTER)),
    "worker": (ASYNC, (*SAVE, start("w2"), work("w2"), *AFTER)),
    "lost": (CONFIG, (script("apply-then-drop"), *SAVE, RESTART, *AFTER)),
    "refused": (CONFIG, (script("definite-refusal"), *SAVE, RESTART, *AFTER)),
    "superseded": (
        CONFIG,
        (script("definite-refusal"), *SAVE, operate("w1", "supersede", "r1"), save("w1", "r1"), *AFTER),
    ),
    "staged-crash": (
        CONFIG,
        (start("w1"), write("w1", "r1"), crash("dispatch.capture:committed"), save("w1", "r1"), *AFTER),
    ),
    "replayed": (
        REPLAY,
        (script("apply-then-drop"), *SAVE, work("w1"), write("w1", "r1", Name="new"), start("w2"), work("w2"), *AFTER),
    ),
    "replay-staged-crash": (
        REPLAY,
        (*SAVE, start("w2"), crash("dispatch.capture:committed", "w2"), work("w2"), *AFTER),
    ),
    "replay-sent-crash": (
        REPLAY,
        (*SAVE, start("w2"), script("hold"), work("w2"), kill("w2"), *AFTER),
    ),
    "one-id": (CONFIG, (script(SAME, SAME), *SAVE, write("w1", "r2"), save("w1", "r2"), *AFTER)),
    "deleted": (ASYNC, (*SAVE, delete("w1", "r1"), start("w2"), work("w2"), *AFTER)),
    "taken": (
        ASYNC,
        (
            *SAVE,
            start("w2"),
            Op("arm", {"proc": "w2", "point": "dispatch.checkpoint:begin", "nth": 1, "action": "pause"}),
            work("w2"),
            time(PAST_LEASE_MS),
            start("w3"),
            work("w3"),
            Op("resume", {"proc": "w2"}),
            *AFTER,
        ),
    ),
    "failed-again": (
        CONFIG,
        (
            script("definite-refusal", "definite-refusal"),
            *SAVE,
            operate("w1", "supersede", "r1"),
            save("w1", "r1"),
            *AFTER,
        ),
    ),
    "stopped": (ASYNC, (*SAVE, start("w2"), crash("dispatch.checkpoint:commit", "w2"), work("w2"), *AFTER)),
    "resumed": (
        CONFIG,
        (
            start("w1"),
            write("w1", "r1"),
            crash("dispatch.capture:committed"),
            save("w1", "r1"),
            time(PAST_LEASE_MS),
            start("w2"),
            crash("writeback.link:commit", "w2"),
            work("w2"),
            *AFTER,
        ),
    ),
    "reconciled": (
        CONFIG,
        (
            script("apply-then-drop"),
            *SAVE,
            operate("w1", "reconcile", "r1", remote_id="x7"),
            work("w1"),
            *AFTER,
        ),
    ),
}


@cache
def passing(name: str) -> History:
    config, ops = PASSING[name]
    found = run(Program(f"checkers/{name}", FAMILY.id, config, ops, {}))
    assert violations(found) == {}
    return found


def violations(found: History) -> dict[str, int]:
    return {v.requirement: len(v.violations) for v in judge(FAMILY, found) if v.violations}


def edited(name: str, edit: Edit) -> History:
    events = edit(list(passing(name).events))
    return replace(passing(name), events=tuple(replace(e, seq=n) for n, e in enumerate(events)))


def rows(change: Callable[[Rows], None], *, when: Callable[[Event], bool] = lambda _: True) -> Edit:
    """Change the rows of every snapshot that ``when`` accepts."""

    def edit(events: list[Event]) -> list[Event]:
        found = []
        for event in events:
            if event.cls != "rows" or not when(event):
                found.append(event)
                continue
            kinds = {kind: [dict(row) for row in rows] for kind, rows in event.data["kinds"].items()}
            change(kinds)
            found.append(replace(event, data={**event.data, "kinds": kinds}))
        return found

    return edit


def again(
    *, after: Callable[[Event], bool], command: str | None = None, proc: str | None = None, **members: Any
) -> Edit:
    """Another connection and request like the first, behind the last event that ``after`` accepts.

    With ``command`` it is moved to right behind the last such command.
    """

    def edit(events: list[Event]) -> list[Event]:
        first = [e for e in events if e.cls == "wire"][:2]
        place = max(n for n, e in enumerate(events) if after(e))
        if command is not None:
            place = max(n for n, e in enumerate(events) if e.kind == "command" and e.data["cmd"] == command)
        number = 1 + max(e.data["conn"] for e in events if e.kind == "connection")
        who = proc or events[place].proc
        copies = [replace(e, proc=who, data={**e.data, "conn": number, **members}) for e in first]
        copies[0] = replace(copies[0], data={"conn": number})
        return [*events[: place + 1], *copies, *events[place + 1 :]]

    return edit


def drop(which: Callable[[Event], bool]) -> Edit:
    return lambda events: [e for e in events if not which(e)]


def anything(_: Event) -> bool:
    return True


def saved(event: Event) -> bool:
    return event.kind == "command" and event.data["cmd"] == "push.trigger"


def second_attempt(kinds: Rows) -> None:
    for row in kinds["attempts"][:1]:
        kinds["attempts"].append({**row, "attempt": "other", "state": "pending", "remote_id": None, "ordinal": 2})


def set_attempt(**values: Any) -> Callable[[Rows], None]:
    def change(kinds: Rows) -> None:
        for row in kinds["attempts"]:
            row.update(values)

    return change


def fill_mirror(kinds: Rows) -> None:
    for row in kinds["records"]:
        row["fields"] = {**row["fields"], "RemoteId": "x1", "RemoteSource": "k"}


def only_second_link(kinds: Rows) -> None:
    for row in kinds["links"]:
        row["record"] = "r2"


def forget_id(kinds: Rows) -> None:
    for row in kinds["attempts"]:
        if row["record"] == "r2":
            row["remote_id"] = None


def at_request(event: Event) -> bool:
    return bool(event.data["why"] == "request")


def is_finalized(event: Event) -> bool:
    return any(row["state"] == "finalized" for row in event.data["kinds"]["attempts"])


def after_crash(event: Event) -> bool:
    return bool(event.data["why"] == "after kill")


def late(event: Event) -> bool:
    return bool(event.data["why"] == "end")


def answered(event: Event) -> bool:
    return event.data["why"] in ("after answer", "end")


def in_last_answer(events: list[Event]) -> list[Event]:
    """A second attempt appears with the last answer."""
    last = max(e.seq for e in events if e.cls == "rows" and e.data["why"] == "after answer")
    return rows(second_attempt, when=lambda e: e.seq == last)(events)


def no_link(kinds: Rows) -> None:
    kinds["links"].clear()


#: requirement, the passing history, and what is done to it.
MUTANTS: tuple[tuple[str, str, Edit], ...] = (
    ("ATT-004", "lost", rows(second_attempt, when=late)),
    ("ATT-004", "worker", rows(second_attempt, when=lambda e: bool(e.data["kinds"]["attempts"][:1])
                               and e.data["kinds"]["attempts"][0]["state"] == "pending")),
    ("ATT-015", "taken", again(after=lambda e: e.kind == "answer" and e.proc == "w3", proc="w2")),
    ("ATT-016", "plain", rows(set_attempt(io_started_at=None), when=at_request)),
    ("ATT-016", "deleted", rows(set_attempt(io_started_at=1), when=late)),
    ("ATT-016", "stopped", rows(set_attempt(io_started_at=1), when=after_crash)),
    ("ATT-015", "taken", lambda events: drop(lambda e: e.cls == "wire")(
        rows(set_attempt(state="processing", worker="w3"), when=is_finalized)(events)
    )),
    ("ATT-043", "lost", rows(set_attempt(state="terminal_failed"), when=answered)),
    ("ATT-043", "lost", rows(set_attempt(state="writeback_pending"), when=answered)),
    ("POST-020", "plain", again(after=anything, command="push.work")),
    ("POST-020", "plain", lambda events: [
        e for e in again(after=anything, command="push.work")(events) if e.cls != "rows"
    ]),
    ("POST-023", "refused", again(after=saved)),
    ("POST-023", "refused", in_last_answer),
    ("POST-023", "failed-again", in_last_answer),
    ("POST-028", "plain", rows(lambda kinds: kinds["attempts"].clear(), when=at_request)),
    ("POST-028", "worker", rows(lambda kinds: kinds["attempts"].clear(), when=at_request)),
    ("POST-031", "plain", rows(no_link, when=late)),
    ("POST-031", "plain", rows(set_attempt(state="post_sent"), when=late)),
    ("POST-031", "resumed", rows(set_attempt(state="writeback_pending"), when=after_crash)),
    ("POST-032", "lost", again(after=saved)),
    ("POST-032", "lost", again(after=anything, command="push.work")),
    ("POST-034", "replayed", lambda events: [
        replace(e, data={**e.data, "digest": "other"}) if e.kind == "request" and e.data["conn"] == 2 else e
        for e in events
    ]),
    ("POST-034", "replayed", lambda events: [
        replace(e, data={**e.data, "path": "/v2/contacts"}) if e.kind == "request" and e.data["conn"] == 2 else e
        for e in events
    ]),
    ("DRIFT-092", "one-id", rows(only_second_link, when=late)),
    ("DRIFT-092", "one-id", rows(forget_id, when=late)),
    ("MIRROR-003", "lost", rows(fill_mirror, when=late)),
    ("MIRROR-003", "plain", rows(lambda kinds: (fill_mirror(kinds), no_link(kinds)), when=at_request)),  # type: ignore[func-returns-value]
    ("RETRY-006", "staged-crash", again(after=saved)),
    ("RETRY-006", "staged-crash", again(after=anything, command="push.work")),
    ("RETRY-006", "replay-staged-crash", again(after=anything, command="push.work")),
)  # fmt: skip

#: requirement, the passing history, and an edit that must not be held against it.
NEAR_MISSES: tuple[tuple[str, str, Edit], ...] = (
    ("ATT-004", "superseded", drop(lambda e: e.cls == "note")),
    ("ATT-015", "taken", drop(lambda e: e.cls == "note")),
    ("ATT-016", "lost", rows(set_attempt(io_started_at=1), when=late)),
    # Its attempt had not been sent; there is a contract, by which the request is sent once more.
    ("ATT-043", "lost", rows(set_attempt(state="pending", io_started_at=None), when=answered)),
    ("ATT-043", "replayed", rows(set_attempt(state="processing"), when=answered)),
    # Its process had begun to send before there was a link.
    ("POST-020", "lost", again(after=saved)),
    ("POST-020", "plain", lambda events: rows(no_link)(again(after=anything, command="push.work")(events))),
    ("POST-023", "superseded", rows(lambda _: None)),
    ("POST-023", "failed-again", drop(lambda e: e.cls == "note")),
    ("ATT-016", "stopped", drop(lambda e: e.cls == "note")),
    ("POST-028", "deleted", rows(lambda _: None)),
    ("POST-031", "reconciled", rows(no_link, when=lambda e: any(
        row["state"] == "writeback_pending" for row in e.data["kinds"]["attempts"]
    ))),
    ("POST-032", "replayed", rows(lambda _: None)),
    ("POST-034", "replayed", rows(lambda _: None)),
    ("DRIFT-092", "one-id", rows(lambda kinds: [row.update(state="retired") for row in kinds["links"]], when=late)),
    ("MIRROR-003", "plain", rows(fill_mirror, when=late)),
    ("RETRY-006", "staged-crash", rows(lambda _: None)),
    # Nobody knew of an id when the process died: the repetition that the contract permits stays permitted.
    ("RETRY-006", "replay-sent-crash", again(after=anything, command="push.work")),
)  # fmt: skip


@pytest.mark.parametrize(("requirement", "name", "edit"), MUTANTS, ids=lambda v: v if isinstance(v, str) else "")
def test_an_edited_history_fails(requirement: str, name: str, edit: Edit) -> None:
    assert requirement in violations(edited(name, edit))


@pytest.mark.parametrize(("requirement", "name", "edit"), NEAR_MISSES, ids=lambda v: v if isinstance(v, str) else "")
def test_a_near_miss_passes(requirement: str, name: str, edit: Edit) -> None:
    assert requirement not in violations(edited(name, edit))


def findings(found: History, requirement: str) -> object:
    return [(v.met, v.violations) for v in judge(FAMILY, found) if v.requirement == requirement]


@pytest.mark.parametrize("checker", list(FAMILY.checkers), ids=lambda c: c.requirement)
def test_a_checker_reads_no_more_than_it_declares(checker: Any) -> None:
    for program, _ in outcomes()[::97]:
        whole = history(program)
        part = replace(whole, events=tuple(e for e in whole.events if e.cls in checker.reads))
        assert findings(part, checker.requirement) == findings(whole, checker.requirement), program.id
