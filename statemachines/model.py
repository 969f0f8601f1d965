"""The specification as frozen dataclasses. Nothing here reads a file or checks a rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from statemachines.table import Row, Table

__all__ = [
    "Cell",
    "Coupling",
    "Field",
    "InPlace",
    "Interpretation",
    "Lifecycle",
    "Never",
    "Outcome",
    "Procedure",
    "Profile",
    "Reading",
    "Requirement",
    "Row",
    "State",
    "Step",
    "Table",
    "Transition",
    "Value",
]

Value = str | int | bool | None


@dataclass(frozen=True, slots=True)
class State:
    """One state of a lifecycle.

    `occupies`: a row in this state holds its uniqueness slot. `claimable`: a worker may take it up.
    `classification`: what the state says about the effect to an observer who knows nothing else.
    """

    name: str
    meaning: str
    initial: bool = False
    terminal: bool = False
    occupies: bool = False
    claimable: bool = False
    classification: str | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """A field with a finite domain. `marks` are among durable, ephemeral, remote, ghost, observable.

    `predicate`: its value is evidence that the environment decides, so no transition has to set it.
    `ceiling`: a counter saturates there.
    """

    name: str
    domain: tuple[Value, ...]
    marks: frozenset[str]
    meaning: str = ""
    predicate: bool = False
    ceiling: int | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """One edge. `source` None creates the entity. `when` maps a field to the values that it may have."""

    trigger: str
    source: str | None
    dest: str
    actor: tuple[str, ...]
    when: Mapping[str, tuple[Value, ...]]
    set: Mapping[str, Value]
    requirements: tuple[str, ...]
    note: str = ""

    def enabled(self, values: Mapping[str, Value]) -> bool:
        """Whether the guard holds for these field values; a field that is missing counts as null."""
        return all(values.get(name) in allowed for name, allowed in self.when.items())


@dataclass(frozen=True, slots=True)
class InPlace:
    """A write that keeps the state: fields change, in any of `states`, under the guard `when`. No edge."""

    trigger: str
    states: tuple[str, ...]
    actor: tuple[str, ...]
    when: Mapping[str, tuple[Value, ...]]
    set: Mapping[str, Value]
    requirements: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Never:
    """A forbidden move that deserves a name. `dest` None removes the row; `actor` None is everybody."""

    source: tuple[str | None, ...]
    dest: tuple[str | None, ...]
    actor: tuple[str, ...] | None
    reason: str
    requirements: tuple[str, ...]

    @property
    def pairs(self) -> frozenset[tuple[str | None, str | None]]:
        """Every (from, to) that this entry names."""
        return frozenset((s, d) for s in self.source for d in self.dest)


@dataclass(frozen=True, slots=True)
class Coupling:
    """States of another lifecycle that may stand beside `state`.

    `how` is `atomic` (both change in one transaction) or `recovery` (seen only until recovery repairs it).
    """

    state: str
    other: str
    states: tuple[str, ...]
    how: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The states of one kind of entity and the moves between them. `states` keeps the order of the file."""

    id: str
    title: str
    source: str
    entity: str
    key: tuple[str, ...]
    states: Mapping[str, State]
    fields: Mapping[str, Field]
    transitions: tuple[Transition, ...]
    never: tuple[Never, ...]
    couplings: tuple[Coupling, ...]
    in_place: tuple[InPlace, ...] = ()
    initial: str = ""
    terminal: frozenset[str] = frozenset()
    edges: frozenset[tuple[str | None, str]] = frozenset()
    forbidden: frozenset[tuple[str | None, str | None]] = frozenset()

    def beside(self, state: str, other: str, *, atomic_only: bool = False) -> frozenset[str]:
        """States of lifecycle `other` that may stand beside `state`; empty when nothing is said."""
        return frozenset(
            name
            for coupling in self.couplings
            if coupling.state == state and coupling.other == other and (coupling.how == "atomic" or not atomic_only)
            for name in coupling.states
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step may end, and what its actor does then: `then` is a step name, or None to stop.

    `fires` is the lifecycle trigger that records this outcome, if any.
    """

    name: str
    then: str | None
    fires: tuple[str, ...] = ()
    means: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a procedure. `kind` is durable, read, remote or local; `fires` are `lifecycle.trigger`."""

    name: str
    kind: str
    fires: tuple[str, ...]
    outcomes: Mapping[str, Outcome]
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Procedure:
    """The ordered steps of one actor doing one job."""

    id: str
    title: str
    actor: str
    steps: tuple[Step, ...]
    source: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One situation that a requirement speaks of; it must occur before the requirement may pass.

    `needs` are fault names of the table `faults`, `evidence` the event classes that judge it.
    """

    id: str
    text: str
    needs: tuple[str, ...]
    rung: str
    evidence: tuple[str, ...]
    modes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Requirement:
    """One obligation of a source document, with the project's own words for it."""

    id: str
    source: str
    profile: str
    level: str
    kind: str
    statement: str
    where: str
    given: str
    when: str
    then: str
    observable: str
    faults: tuple[str, ...]
    mutant: str
    status: str
    core: bool = False
    same_as: str | None = None
    note: str = ""
    reason: str = ""
    cells: tuple[Cell, ...] = ()

    @property
    def prefix(self) -> str:
        """The letters before the dash of the id."""
        return self.id.partition("-")[0]


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read an ambiguous place. `variant` names the legal variant that shows it, `note` says why none does.

    `unreachable` are the cells (requirement/cell) that are not-applicable for a driver that declares this reading.
    """

    id: str
    text: str
    status: str
    variant: str | None = None
    unreachable: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Interpretation:
    """An ambiguity of a source with its readings; at most one reading is `taken`.

    `touches` are the live requirements whose judgement depends on the reading.
    """

    id: str
    source: str
    where: str
    problem: str
    readings: tuple[Reading, ...]
    proposed: str
    touches: tuple[str, ...] = ()

    @property
    def taken(self) -> Reading | None:
        """The reading that the reference follows, or None when the ambiguity needs no choice."""
        return next((reading for reading in self.readings if reading.status == "taken"), None)


@dataclass(frozen=True, slots=True)
class Profile:
    """A named set of requirements. `core` and `extended` are derived from the requirements' own flag."""

    id: str
    title: str
    source: str
    groups: tuple[str, ...]
    rungs: Mapping[str, str]
    core: tuple[str, ...] = ()
    extended: tuple[str, ...] = ()

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The prefixes of its requirements, in order of first appearance."""
        return tuple(dict.fromkeys(name.partition("-")[0] for name in (*self.core, *self.extended)))
