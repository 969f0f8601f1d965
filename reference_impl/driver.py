"""The reference behind the driver protocol: which package serves a state directory is in the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from conformance.kit import Ports, Runtime, Setup, Unsupported
from reference_impl.packages import PACKAGES, Package
from reference_impl.store import Store, Template
from statemachines.spec import Spec, load

_DATABASE = "ledger.db"


class Reference:
    """The implementation that ``--driver reference`` runs. Deviations and variants replace its packages."""

    name = "reference"
    packages: Mapping[str, Package] = PACKAGES
    readings: Mapping[str, str] = {}

    def __init__(self) -> None:
        self.spec = _spec()

    def warm(self) -> None:
        """Build what every process needs once, before a warm parent forks."""
        for package in self.packages.values():
            self._template(package).image()

    def hello(self) -> Mapping[str, Any]:
        """Who this is, and what it offers."""
        return {
            "name": f"onceproof-{self.name}",
            "version": "0.1.0",
            "language": "python",
            "issues": "https://github.com/onceproof/onceproof/issues",
            "families": list(self.packages),
            "features": ["status_log"],
            "rung": "L2",
            "clock": "virtual",
            "readings": dict(self.readings),
        }

    def open(self, setup: Setup, ports: Ports) -> Runtime:
        """Open the ledger of the state directory, creating it when the state is fresh."""
        family = str(setup.config.get("family"))
        package = self.packages.get(family)
        if package is None:
            raise Unsupported(family, f"the reference serves {', '.join(self.packages)}")
        path = setup.state_dir / _DATABASE
        if setup.fresh:
            self._template(package).create(path)
        runtime: Runtime = package.host(setup, ports, Store(path, ports), self.spec)
        return runtime

    def _template(self, package: Package) -> Template:
        key = (type(self), package.family)
        if key not in _TEMPLATES:
            _TEMPLATES[key] = Template(package.statements(self.spec.lifecycles))
        return _TEMPLATES[key]


@cache
def _spec() -> Spec:
    return load()


_TEMPLATES: dict[tuple[type, str], Template] = {}
