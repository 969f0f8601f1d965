"""The coordinates of one invocation, as the suite knows them: namespace, key, fingerprint, admission (§4 step 3, §5.1).

They come from the context, the request and the configuration that the suite itself has sent, never from what an
implementation stores or says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from conformance.checkers.mutation.facts import Command

#: The parts of a namespace, in the order of mutation-key/v1. Receiver and direct origin speak of the same instance.
NAMESPACE_AXES: Final = ("receiver", "tenant", "realm", "caller", "executor", "origin")
_WHO: Final = ("tenant", "realm", "caller", "executor")


@dataclass(frozen=True)
class Coordinates:
    """Where a keyed invocation belongs: its namespace and key, and what it asks for, axis by axis."""

    namespace: tuple[Any, ...]
    key: str
    fingerprint: Mapping[str, Any]

    @cached_property
    def slot(self) -> tuple[tuple[Any, ...], str]:
        """What the unique index is over."""
        return (self.namespace, self.key)

    def differing(self, other: Coordinates) -> frozenset[str]:
        """The axes of the fingerprint in which two requests differ."""
        return frozenset(axis for axis, value in self.fingerprint.items() if other.fingerprint[axis] != value)

    def namespace_axes(self, other: Coordinates) -> frozenset[str]:
        """The axes of the namespace in which two callers differ."""
        pairs = zip(NAMESPACE_AXES, self.namespace, other.namespace, strict=True)
        return frozenset(axis for axis, mine, its in pairs if mine != its)


def coordinates(command: Command) -> Coordinates | None:
    """The coordinates of an invocation that is keyed and passes admission; None for every other command."""
    operation = admitted_operation(command)
    if operation is None or operation["idempotency"] != "keyed" or not command.key:
        return None
    request, context, config = command.request, command.args["context"], command.config
    instance = config["instance"]
    origin = context.get("origin") or {"kind": "direct", "authority": instance}
    own = (origin["kind"], origin["authority"]) == ("direct", instance)
    namespace = (instance, *(context.get(w) for w in _WHO), "own" if own else (origin["kind"], origin["authority"]))
    return Coordinates(
        namespace,
        command.key,
        {
            "operation": request["operation"],
            "connection": request["connection"],
            "connection-revision": operation.get("connection_revision", "1"),
            "version": request["version"],
            "revision": operation["revision"],
            "config-revision": config["config_revision"],
            "input": json.dumps(request["input"], sort_keys=True),
        },
    )


def admitted_operation(command: Command) -> Mapping[str, Any] | None:
    """The configured operation that this caller is admitted to: bound, fresh and enabled; None where it is refused."""
    if not command.invokes or not command.config:
        return None
    request, context, config = command.request, command.args["context"], command.config
    if request.get("version") != "v1alpha2" or not isinstance(request.get("input"), Mapping):
        return None
    wanted = request.get("operation")
    who = {k: context.get(k) for k in _WHO}
    if not any(wanted in c["may"] and {k: c.get(k) for k in _WHO} == who for c in config["callers"]):
        return None
    operation: Mapping[str, Any]
    for operation in config["operations"]:
        if operation["id"] == wanted:
            fresh = operation["revision"] == request.get("revision")
            bound = operation["connection"] == request.get("connection")
            return operation if fresh and bound and operation.get("enabled", True) else None
    return None
