"""A lifecycle as a `transitions` machine.

The machine has no automatic transitions, its guards are conditions, and it owns no model: one machine serves
any number of them. A model is any object with the lifecycle's fields as attributes; register it with
`machine.add_model(model)`, and it gets `state` and one method per trigger. A model begins in ABSENT, from
which the creation triggers lead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from statemachines.model import Lifecycle, Transition, Value

if TYPE_CHECKING:
    from transitions import EventData, Machine

ABSENT = "(absent)"


def build(lc: Lifecycle) -> Machine:
    """The machine of this lifecycle.

    Firing a trigger returns True when the edge was taken and False when its guard did not hold; it raises
    `transitions.MachineError` in a state that the trigger does not leave. Fields that a transition sets are
    written to the model; a field that the model lacks counts as null.
    """
    # Imported late: most users of the specification never drive a machine.
    from transitions import Machine  # noqa: PLC0415

    machine = Machine(
        model=None,
        states=[ABSENT, *lc.states],
        initial=ABSENT,
        auto_transitions=False,
        send_event=True,
        queued=False,
        name=lc.id,
    )
    for transition in lc.transitions:
        machine.add_transition(
            trigger=transition.trigger,
            source=ABSENT if transition.source is None else transition.source,
            dest=transition.dest,
            conditions=[_guard(transition)] if transition.when else None,
            before=[_setter(transition.set)] if transition.set else None,
        )
    return machine


def _guard(transition: Transition) -> Callable[[EventData], bool]:
    def guard(event: EventData) -> bool:
        return transition.enabled({name: getattr(event.model, name, None) for name in transition.when})

    return guard


def _setter(values: Mapping[str, Value]) -> Callable[[EventData], None]:
    def assign(event: EventData) -> None:
        model: Any = event.model
        for name, value in values.items():
            setattr(model, name, value)

    return assign
