"""Which package of the reference serves which family: the only list of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reference_impl.connector import schema as connector_schema
from reference_impl.connector.runtime import Connector
from reference_impl.mutation_host import schema as mutation_schema
from reference_impl.mutation_host.host import MutationHost
from reference_impl.settle import schema as settle_schema
from reference_impl.settle.runtime import Lanes
from statemachines.model import Lifecycle


@dataclass(frozen=True, slots=True)
class Package:
    """One protocol's runtime: its class, its DDL from the lifecycles, and the parts that it makes.

    Each part ``x`` is made by the class attribute ``x_class`` of the host, which a deviation or variant replaces.
    """

    family: str
    host: type[Any]
    statements: Callable[[Mapping[str, Lifecycle]], tuple[str, ...]]
    parts: tuple[str, ...]


PACKAGES: Mapping[str, Package] = {
    package.family: package
    for package in (
        Package(
            "mutation-host",
            MutationHost,
            mutation_schema.statements,
            ("ledger", "dispatcher", "observer", "supervisor", "admission", "approvals", "preflight"),
        ),
        Package(
            "connector-push",
            Connector,
            connector_schema.statements,
            ("ledger", "saver", "dispatcher", "writeback", "worker", "policy"),
        ),
        Package(
            "settle-lanes",
            Lanes,
            settle_schema.statements,
            ("ledger", "enqueuer", "reaper", "claimer", "reader", "finisher", "replayer", "gauge", "metadata"),
        ),
    )
}


def with_host(family: str, host: type[Any]) -> Mapping[str, Package]:
    """The packages with another host class for one family."""
    return {**PACKAGES, family: replace(PACKAGES[family], host=host)}
