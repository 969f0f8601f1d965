"""Planting: how a deviation (a fault) or a legal variant replaces parts of the reference, from outside of it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from conformance.kit import Implementation
from reference_impl.driver import Reference
from reference_impl.packages import PACKAGES
from statemachines.model import Lifecycle

T = TypeVar("T", bound=type)
#: The part that is the host itself, with several of its parts replaced.
HOST = "host"
Statements = Callable[[Mapping[str, Lifecycle]], tuple[str, ...]]


@dataclass(slots=True)
class Planted:
    """One deviation or variant. ``names`` is the requirement broken, or the reading followed.

    ``unguarded`` drops the schema objects that would hide the fault: the guards against forbidden state changes and
    the uniqueness rules (DESIGN section 8). ``readings`` are declared in ``hello``.
    """

    id: str
    names: str
    purpose: str
    family: str
    part: str
    replacement: type
    unguarded: bool = False
    readings: Mapping[str, str] = field(default_factory=dict)

    def implementation(self) -> Callable[[], Implementation]:
        """A maker of the reference with this part replaced."""
        package = PACKAGES[self.family]
        host = self.replacement
        if self.part != HOST:
            host = type(f"Host_{self.id}", (package.host,), {f"{self.part}_class": self.replacement})
        statements = _unguarded(package.statements) if self.unguarded else package.statements
        packages = {**PACKAGES, self.family: replace(package, host=host, statements=statements)}
        members: dict[str, Any] = {"name": self.id, "packages": packages, "readings": self.readings}
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
        parts = (*PACKAGES[self._family].parts, HOST)

        def register(cls: T) -> T:
            purpose = (cls.__doc__ or "").strip()
            if not purpose or part not in parts:
                raise ValueError(f"{id}: a planted part needs a docstring and a part out of {', '.join(parts)}")
            self.items.append(Planted(id, names, purpose, self._family, part, cls, unguarded, readings or {}))
            return cls

        return register


def _unguarded(statements: Statements) -> Statements:
    def without(lifecycles: Mapping[str, Lifecycle]) -> tuple[str, ...]:
        return tuple(s for s in statements(lifecycles) if "_guard_" not in s and "UNIQUE INDEX" not in s)

    return without


def collected(package: str, path: Iterable[str]) -> tuple[Planted, ...]:
    """Everything planted by the modules of a package, module by module in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(path))
    modules = [importlib.import_module(f"{package}.{name}") for name in names]
    collections = (c for module in modules for c in vars(module).values() if isinstance(c, Collection))
    return tuple(planted for collection in collections for planted in collection.items)
