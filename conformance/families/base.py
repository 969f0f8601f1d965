"""What a family brings to the machine: scenarios, epilogue, effect contract, checkers and their index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.checkers.base import Registry
from conformance.history import History
from conformance.remote.remote import ContractOf
from conformance.search.program import Op
from conformance.search.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Family:
    """One protocol in the machine. ``tail`` is the family's part of every epilogue, after the callers' retries."""

    id: str
    scenarios: tuple[Scenario, ...]
    tail: tuple[Op, ...]
    contract: ContractOf
    checkers: Registry
    index: Callable[[History], Any]
    walk: Mapping[str, Any]
