"""The reference behind the driver protocol: which package serves a state directory is in the configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.kit import Ports, Runtime, Setup, Unsupported
from reference_impl.mutation_host import schema
from reference_impl.mutation_host.host import MutationHost
from reference_impl.store import Store, Template
from statemachines.spec import load

_DATABASE = "ledger.db"


class Reference:
    """The implementation that ``--driver reference`` runs. Deviations and variants replace its parts."""

    name = "reference"
    host_class: type[MutationHost] = MutationHost
    readings: Mapping[str, str] = {}

    def __init__(self) -> None:
        self.spec = load()
        self._template = _template(type(self), self.statements)

    def statements(self) -> tuple[str, ...]:
        """The schema of a fresh store; a deviation that the schema would hide replaces it."""
        return schema.statements(self.spec.lifecycles)

    def warm(self) -> None:
        """Build what every process needs once, before a warm parent forks."""
        self._template.image()

    def hello(self) -> Mapping[str, Any]:
        """Who this is, and what it offers."""
        return {
            "name": f"onceproof-{self.name}",
            "version": "0.1.0",
            "language": "python",
            "issues": "https://github.com/onceproof/onceproof/issues",
            "families": ["mutation-host"],
            "features": ["status_log"],
            "rung": "L2",
            "clock": "virtual",
            "readings": dict(self.readings),
        }

    def open(self, setup: Setup, ports: Ports) -> Runtime:
        """Open the ledger of the state directory, creating it when the state is fresh."""
        family = setup.config.get("family")
        if family != "mutation-host":
            raise Unsupported(str(family), "the reference serves the family mutation-host")
        path = setup.state_dir / _DATABASE
        if setup.fresh:
            self._template.create(path)
        return self.host_class(setup, ports, Store(path, ports), self.spec)


_TEMPLATES: dict[type, Template] = {}


def _template(owner: type, statements: Callable[[], tuple[str, ...]]) -> Template:
    if owner not in _TEMPLATES:
        _TEMPLATES[owner] = Template(statements())
    return _TEMPLATES[owner]
