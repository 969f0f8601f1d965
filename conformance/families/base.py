"""What a family brings to the machine: scenarios, epilogue, effect contract, checkers and their index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.checkers.base import Registry, Violation
from conformance.history import History
from conformance.remote.remote import ContractOf
from conformance.search.disarm import Instead
from conformance.search.program import Op
from conformance.search.scenario import Scenario


@dataclass(frozen=True, slots=True)
class WalkCommand:
    """A command of random walks: who may send it, and how it is made from (process, choice 0 to 2, serial number)."""

    name: str
    procs: tuple[str, ...]
    make: Callable[[str, int, int], Op]


@dataclass(frozen=True, slots=True)
class Walk:
    """What random walks of a family are made of; ``workers`` are the processes that faults may strike.

    ``opening`` is how half of the walks begin: what has to be there before anything else can happen. ``configs`` are
    other configuration documents, by name, that a process may start with in the course of a walk.
    """

    config: Mapping[str, Any]
    workers: tuple[str, ...]
    commands: tuple[WalkCommand, ...]
    times: tuple[Op, ...]
    closing: tuple[Op, ...]
    #: Whether the protocol has a remote that random walks may disturb.
    remote: bool = True
    opening: tuple[Op, ...] = ()
    configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Family:
    """One protocol in the machine.

    ``tail`` is the family's part of every epilogue, after the callers' retries. ``roles`` maps a fault name to the
    commands that realise it, or that make its second party (see :mod:`conformance.search.disarm`).

    ``exercised`` says which rows of tables one history exercised, as ``table/row``, from evidence only; ``tables`` are
    the tables that it speaks of, each with the rows that a run is expected to exercise.
    """

    id: str
    scenarios: tuple[Scenario, ...]
    tail: tuple[Op, ...]
    contract: ContractOf
    checkers: Registry
    index: Callable[[History], Any]
    walk: Walk
    #: What a driver of this family says when all is done, when it refuses, and when it does not know.
    lazy: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    roles: Mapping[str, frozenset[str]] = field(default_factory=dict)
    exercised: Callable[[Any], Iterable[str]] | None = None
    tables: Callable[[], Mapping[str, tuple[str, ...]]] | None = None
    #: Faults that this family's commands realise otherwise than others do, and what stands in their place without them.
    instead: Mapping[str, Instead] = field(default_factory=dict)
    #: What a reader of a failure sees besides its story: lines of text made from the index and the violation.
    picture: Callable[[Any, Violation], str] | None = None
