"""The `transitions` machine says exactly what the lifecycle says."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import pytest
from transitions import MachineError

from statemachines.draw import dot, guard_text, mermaid
from statemachines.machine import ABSENT, build
from statemachines.spec import load

LIFECYCLES = load().lifecycles


def test_an_attempt_runs_from_its_anchor_to_a_result() -> None:
    machine = build(LIFECYCLES["mutation_attempt"])
    attempt = SimpleNamespace(
        key="free", prepare_ack="definite", clearance="granted", gate_ack="none", evidence="success"
    )
    machine.add_model(attempt)
    assert attempt.anchor()
    assert attempt.owner == "me"
    assert attempt.open_gate()
    assert attempt.settle_applied()
    assert (attempt.state, attempt.owner) == ("Completed", "nobody")


def test_a_guard_that_does_not_hold_moves_nothing() -> None:
    machine = build(LIFECYCLES["mutation_attempt"])
    attempt = SimpleNamespace(key="free", prepare_ack="lost", clearance="granted", gate_ack="none")
    machine.add_model(attempt)
    attempt.anchor()
    assert attempt.open_gate() is False
    assert attempt.state == "Prepared"
    attempt.gate_ack = "lost"
    assert attempt.abort_on_lost_gate()
    with pytest.raises(MachineError):
        attempt.open_gate()


def test_one_machine_serves_many_models() -> None:
    machine = build(LIFECYCLES["key_reservation"])
    one, two = (
        SimpleNamespace(key="free", capacity="available"),
        SimpleNamespace(key="taken", capacity="available"),
    )
    machine.add_model([one, two])
    assert (one.reserve(), two.reserve()) == (True, False)
    assert (one.state, two.state) == ("Pending", ABSENT)


@pytest.mark.parametrize("name", LIFECYCLES)
def test_every_trigger_in_every_state_and_nothing_automatic(name: str) -> None:
    lc = LIFECYCLES[name]
    machine = build(lc)
    triggers = {transition.trigger for transition in lc.transitions}
    assert {event for event in machine.events if not event.startswith("to_")} == triggers
    for trigger, state in product(sorted(triggers), [ABSENT, *lc.states]):
        rows = [t for t in lc.transitions if t.trigger == trigger and (t.source or ABSENT) == state]
        model = SimpleNamespace(**dict.fromkeys(lc.fields))
        for row in rows[:1]:
            for field, allowed in row.when.items():
                setattr(model, field, allowed[0])
        machine.add_model(model, initial=state)
        if rows:
            assert getattr(model, trigger)()
            assert model.state == rows[0].dest
            assert all(getattr(model, field) == value for field, value in rows[0].set.items())
        else:
            with pytest.raises(MachineError):
                getattr(model, trigger)()


@pytest.mark.parametrize("name", LIFECYCLES)
def test_drawings_show_every_state_and_every_trigger(name: str) -> None:
    lc = LIFECYCLES[name]
    for picture in (mermaid(lc), dot(lc)):
        assert all(state in picture for state in lc.states)
        assert all(transition.trigger in picture for transition in lc.transitions)
        assert picture.count("->") == len(lc.edges) + (len(lc.terminal) if picture.startswith("state") else 0)


def test_a_guard_reads_like_a_sentence() -> None:
    anchor = LIFECYCLES["mutation_attempt"].transitions[0]
    assert guard_text(anchor) == "key is unkeyed or free"
