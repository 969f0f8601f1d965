"""Rows of tables about checkers: what breaks a requirement and what does not, and where a cell is met."""

from __future__ import annotations

from conformance.history import Event
from conformance.outcome import weigh
from tests.settle.edits import Edit, answer, edited, named, passing
from tests.settle.runs import FAMILY

Case = tuple[str, tuple[Edit, ...]]


def case(scenario: str, *edits: Edit) -> Case:
    return scenario, edits


def claimed(nth: int, event: int) -> Edit:
    """The nth claim was granted for this Event."""
    return answer("lane.claim", nth, status="claimed", event=event)


def asked(nth: int, event: int) -> Edit:
    """The nth claim asked for this Event by its name."""

    def edit(events: list[Event]) -> None:
        commands = [e for e in events if e.kind == "command" and e.data["cmd"] == "lane.claim"]
        commands[nth - 1].data["args"]["event"] = event

    return edit


def only_the_mutants_break(requirement: str, mutants: tuple[Case, ...], near: tuple[Case, ...]) -> None:
    for scenario, edits in mutants:
        assert requirement in named(edited(scenario, *edits)), scenario
    for scenario, edits in near:
        assert requirement not in named(edited(scenario, *edits)), scenario


def met_in_the_first_alone(cell: str, meets: str, does_not: str) -> None:
    requirement, _, name = cell.partition("/")
    assert weigh(FAMILY, passing(meets), {}).met[requirement].get(name)
    assert not weigh(FAMILY, passing(does_not), {}).met.get(requirement, {}).get(name)
