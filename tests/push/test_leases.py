"""Checkers of leases: who ends a claim, when, and by which clock.

As in ``test_checkers``: a mutant is a passing history in which the requirement is broken by hand, a near miss is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from conformance.families.connector_push.commands import save, work
from conformance.families.connector_push.config import ASYNC, INSIDE_MS, LEASE_MS, MARGIN_MS, PAST_LEASE_MS, REPLAY
from conformance.history import Event, History
from conformance.outcome import weigh
from conformance.search.program import Op, Program, recover, release, script, start, time
from tests.push import test_checkers
from tests.push.runs import FAMILY
from tests.push.runs import history as run
from tests.push.test_checkers import SAVE, Edit, Rows, again, crash, drop, rows, set_attempt, violations

NEARLY = (time(INSIDE_MS), work("w3"), time(LEASE_MS - MARGIN_MS - INSIDE_MS), work("w3"))
OVER = (time(MARGIN_MS + 5_000), work("w3"))
#: Everybody who may take a row up has come by when the lease is over by a lease more.
AFTER = (*(op for _ in range(2) for op in (time(PAST_LEASE_MS, trusted=True), save("e1", "r1"), recover("e1"),
                                           work("e1"))), save("e1", "r1"))  # fmt: skip
DEAD = (*SAVE, start("w2"), crash("dispatch.claim:committed", "w2"), work("w2"), start("w3"))
END = (start("e1"), *AFTER)


def paused(proc: str, point: str) -> Op:
    return Op("arm", {"proc": proc, "point": point, "nth": 1, "action": "pause"})


LIVING = (*SAVE, start("w2"), paused("w2", "dispatch.claim:committed"), work("w2"), start("w3"))
RESUMED = Op("resume", {"proc": "w2"})

#: name -> configuration and ops of a history that the reference passes.
PASSING: Mapping[str, tuple[Mapping[str, Any], tuple[Op, ...]]] = {
    "dead": (ASYNC, (*DEAD, *NEARLY, *OVER, *END)),
    "living": (ASYNC, (*LIVING, *NEARLY, *OVER, RESUMED, *END)),
    "goes-on": (ASYNC, (*LIVING, *NEARLY, RESUMED, *END)),
    "in-doubt": (
        ASYNC,
        (*DEAD, time(MARGIN_MS, wall_jump_ms=PAST_LEASE_MS, trusted=False), work("w3"), *END),
    ),
    "untold": (ASYNC, (*DEAD, time(PAST_LEASE_MS, trusted=False), work("w3"), *END)),
    # The clock was looked at ahead of the pause, and the claim is written behind it.
    "late-claim": (
        ASYNC,
        (
            *SAVE,
            start("w2"),
            paused("w2", "dispatch.claim:begin"),
            work("w2"),
            time(PAST_LEASE_MS),
            RESUMED,
            start("w3"),
            work("w3"),
            *END,
        ),
    ),
    "race": (
        ASYNC,
        (
            *SAVE,
            start("w2"),
            paused("w2", "dispatch.claim:begin"),
            work("w2"),
            start("w3"),
            paused("w3", "dispatch.claim:committed"),
            work("w3"),
            RESUMED,
            Op("resume", {"proc": "w3"}),
            *END,
        ),
    ),
    "contract": (
        REPLAY,
        (*SAVE, script("hold"), start("w2"), work("w2"), start("w3"), *NEARLY, release("w2"), *END),
    ),
    "contract-over": (
        REPLAY,
        (*SAVE, script("hold"), start("w2"), work("w2"), start("w3"), *NEARLY, *OVER, release("w2"), *END),
    ),
}


@cache
def passing(name: str) -> History:
    config, ops = PASSING[name]
    found = run(Program(f"leases/{name}", FAMILY.id, config, ops, {}))
    assert violations(found) == {}
    return found


def changed(name: str, edit: Edit) -> History:
    events = edit(list(passing(name).events))
    return replace(passing(name), events=tuple(replace(e, seq=n) for n, e in enumerate(events)))


def behind(proc: str, nth: int, change: Callable[[Rows], None]) -> Edit:
    """Change the rows of the snapshot behind the nth answer of a process, counted from 0."""

    def edit(events: list[Event]) -> list[Event]:
        answer = [e.seq for e in events if e.kind == "answer" and e.proc == proc][nth]
        shown = next(e.seq for e in events if e.cls == "rows" and e.seq > answer)
        return rows(change, when=lambda e: e.seq == shown)(events)

    return edit


PENDING = set_attempt(state="pending", claim=None, worker=None, lease_expires_at=None)
OTHER = set_attempt(state="processing", claim="other", worker="w3", io_started_at=None)
AMBIGUOUS = set_attempt(state="ambiguous_remote_effect", claim=None, worker=None, lease_expires_at=None)


def stored_short(events: list[Event]) -> list[Event]:
    """The row says that its lease is over sooner than was configured, and it is taken back then."""

    def shorten(kinds: Rows) -> None:
        for row in kinds["attempts"]:
            row["lease_expires_at"] = row["lease_expires_at"] and row["lease_expires_at"] - 5_000

    return behind("w3", 1, PENDING)(rows(shorten)(events))


def left_behind(**values: Any) -> Edit:
    """Nobody ever takes the claim up: it stays as it was first seen, but for ``values``."""

    def edit(events: list[Event]) -> list[Event]:
        first = next(e for e in events if e.cls == "rows" and any(r["claim"] for r in e.data["kinds"]["attempts"]))
        held = [{**row, **values} for row in first.data["kinds"]["attempts"]]

        def stay(kinds: Rows) -> None:
            kinds["attempts"], kinds["links"] = held, []
            kinds.pop("status_log", None)

        kept = drop(lambda e: e.cls == "wire" or e.kind == "meaning")(events)
        return rows(stay, when=lambda e: e.seq >= first.seq)(kept)

    return edit


def refusing(cmd: str) -> Callable[[list[Event]], list[Event]]:
    """Every such command is refused, so that it has come by and done nothing."""

    def edit(events: list[Event]) -> list[Event]:
        said = {"status": "refused", "reason": "worker_disabled"}
        return [
            replace(e, data={**e.data, "result": said}) if e.kind == "answer" and e.data["cmd"] == cmd else e
            for e in events
        ]

    return edit


def within(name: str, nth: int) -> Callable[[Event], bool]:
    """Up to the nth command of w3 in a passing history."""
    return lambda e: e.seq <= [c.seq for c in passing(name).of("suite") if c.kind == "command" and c.proc == "w3"][nth]


#: requirement, the passing history, and what is done to it.
MUTANTS: tuple[tuple[str, str, Edit], ...] = (
    ("ATT-040", "dead", behind("w3", 0, PENDING)),
    ("ATT-040", "dead", behind("w3", 1, PENDING)),
    ("ATT-040", "dead", behind("w3", 1, AMBIGUOUS)),
    ("ATT-040", "dead", stored_short),
    ("ATT-040", "dead", left_behind()),
    ("ATT-040", "living", behind("w3", 1, PENDING)),
    ("ATT-040", "in-doubt", behind("w3", 0, PENDING)),
    ("ATT-035", "dead", behind("w3", 1, OTHER)),
    ("ATT-035", "living", behind("w3", 0, OTHER)),
    ("ATT-035", "race", behind("w2", 0, set_attempt(claim="other", worker="w2"))),
    ("ATT-035", "contract", again(after=within("contract", 0), proc="w3", key="k")),
    ("ATT-035", "contract", again(after=within("contract", 1), proc="w3", key="k")),
)

#: requirement, the passing history, and an edit that must not be held against it.
NEAR_MISSES: tuple[tuple[str, str, Edit], ...] = (
    # The lease is over: the row is anybody's.
    ("ATT-040", "dead", behind("w3", 2, PENDING)),
    ("ATT-035", "dead", behind("w3", 2, OTHER)),
    ("ATT-035", "contract-over", rows(lambda _: None)),
    # A holder that goes on may have given its own row back (ambiguity 'how a claimed attempt waits for its target').
    ("ATT-040", "goes-on", behind("w2", 0, PENDING)),
    # Nobody attests the clock, but the time has gone by.
    ("ATT-040", "untold", behind("w3", 0, PENDING)),
    # The lease counts from when the holder looked at the clock, not from its commit.
    ("ATT-040", "late-claim", behind("w3", 0, PENDING)),
    # The lease was renewed by a holder that has died since, or is longer than what the suite waits for.
    ("ATT-040", "dead", left_behind(lease_expires_at=1 << 50)),
    # Who may take a configured row up is open: where no worker runs, nobody but an operator may.
    ("ATT-040", "dead", lambda events: refusing("push.work")(left_behind()(events))),
    ("ATT-040", "dead", lambda events: refusing("recover")(left_behind()(events))),
    # What was sent is no matter of this requirement.
    ("ATT-040", "contract", behind("w3", 0, AMBIGUOUS)),
    ("ATT-035", "contract", behind("w3", 0, AMBIGUOUS)),
)


@pytest.mark.parametrize(("requirement", "name", "edit"), MUTANTS, ids=lambda v: v if isinstance(v, str) else "")
def test_an_edited_history_fails(requirement: str, name: str, edit: Edit) -> None:
    assert requirement in violations(changed(name, edit))


@pytest.mark.parametrize(("requirement", "name", "edit"), NEAR_MISSES, ids=lambda v: v if isinstance(v, str) else "")
def test_a_near_miss_passes(requirement: str, name: str, edit: Edit) -> None:
    assert requirement not in violations(changed(name, edit))


#: The cells that each history is there for.
CELLS = {
    "dead": {"ATT-040/worker-inside", "ATT-040/worker-nearly-over", "ATT-040/worker-over"},
    "living": {"ATT-040/living-inside", "ATT-040/living-nearly-over", "ATT-040/living-over"},
    "in-doubt": {"ATT-040/in-doubt"},
    "race": {"ATT-035/race"},
    "contract": {"ATT-035/contract", "ATT-035/contract-nearly-over"},
}


@pytest.mark.parametrize("name", PASSING)
def test_a_history_meets_its_cells(name: str) -> None:
    met = weigh(FAMILY, passing(name), {}).met
    found = {f"{r}/{cell}" for r in ("ATT-035", "ATT-040") for cell in met.get(r, {})}
    assert found >= CELLS.get(name, set())


def test_every_checker_has_mutants_and_a_near_miss() -> None:
    ids = {c.requirement for c in FAMILY.checkers}
    mutants = [requirement for requirement, *_ in (*test_checkers.MUTANTS, *MUTANTS)]
    assert [r for r in ids if mutants.count(r) < 2] == []
    assert {requirement for requirement, *_ in (*test_checkers.NEAR_MISSES, *NEAR_MISSES)} == ids


def test_the_reference_stores_what_is_configured() -> None:
    shown = (row for e in passing("dead").of("rows") for row in e.data["kinds"]["attempts"] if row["claim"])
    clock = next(e for e in passing("dead").of("suite") if e.kind == "config").data["clock"]
    # Each reading of the clock is a millisecond later than the one before.
    assert 0 <= next(shown)["lease_expires_at"] - clock["wall_ms"] - LEASE_MS < 10
