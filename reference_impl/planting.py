"""Planting: how a deviation (a fault) or a legal variant replaces parts of the reference, from outside of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from conformance.kit import Implementation
from reference_impl.driver import Reference
from reference_impl.mutation_host import schema as mutation_schema
from reference_impl.mutation_host.host import MutationHost
from statemachines.model import Lifecycle

T = TypeVar("T", bound=type)
#: What may be replaced: the class attributes of the host by which it makes its parts, or the host with several of them.
PARTS = ("ledger", "dispatcher", "observer", "supervisor", "host")


@dataclass(slots=True)
class Planted:
    """One deviation or variant. ``names`` is the requirement broken, or the reading followed.

    ``unguarded`` drops the schema objects that would hide the fault: the guards against forbidden state changes and
    the uniqueness of live keys (DESIGN section 8). ``readings`` are declared in ``hello``.
    """

    id: str
    names: str
    purpose: str
    family: str = "mutation-host"
    part: str = "dispatcher"
    replacement: type | None = None
    unguarded: bool = False
    readings: Mapping[str, str] = field(default_factory=dict)

    def implementation(self) -> Callable[[], Implementation]:
        """A maker of the reference with this part replaced."""
        if self.part == "host":
            host = self.replacement
        else:
            host = type(f"Host_{self.id}", (MutationHost,), {f"{self.part}_class": self.replacement})
        members: dict[str, Any] = {"name": self.id, "host_class": host, "readings": self.readings}
        if self.unguarded:
            members["statements"] = lambda me: _unguarded(me.spec.lifecycles)
        return type(f"Reference_{self.id}", (Reference,), members)


class Collection:
    """The deviations or variants of one module, in order of definition."""

    def __init__(self, family: str) -> None:
        self._family = family
        self.items: list[Planted] = []

    def plant(
        self,
        id: str,
        *,
        names: str,
        part: str,
        unguarded: bool = False,
        readings: Mapping[str, str] | None = None,
    ) -> Callable[[T], T]:
        """Register the decorated class as the replacement of ``part``; its docstring says the fault in one line."""

        def register(cls: T) -> T:
            purpose = (cls.__doc__ or "").strip()
            if not purpose or part not in PARTS:
                raise ValueError(f"{id}: a planted part needs a docstring and a part out of {', '.join(PARTS)}")
            self.items.append(Planted(id, names, purpose, self._family, part, cls, unguarded, readings or {}))
            return cls

        return register


def _unguarded(lifecycles: Mapping[str, Lifecycle]) -> tuple[str, ...]:
    return tuple(s for s in mutation_schema.statements(lifecycles) if "_guard_" not in s and "UNIQUE INDEX" not in s)
