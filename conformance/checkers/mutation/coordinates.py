"""The coordinates of one invocation, as the suite knows them: namespace, key, fingerprint (mutation-profile 5.1).

They come from the context, the request and the configuration that the suite itself has sent, never from what an
implementation stores or says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from conformance.checkers.mutation.facts import Command
from conformance.checkers.mutation.policy import Policy

#: The parts of a namespace, in the order of mutation-key/v1. Receiver and direct origin speak of the same instance.
NAMESPACE_AXES: Final = ("receiver", "tenant", "realm", "caller", "executor", "origin")
_WHO: Final = ("tenant", "realm", "caller", "executor")


@dataclass(frozen=True)
class Coordinates:
    """Where a keyed invocation belongs: its namespace and key, and what it asks for, axis by axis.

    ``plain`` calls need no approval, no credential and no room: nothing but the key stands before their attempt.
    """

    namespace: tuple[Any, ...]
    key: str
    fingerprint: Mapping[str, Any]
    plain: bool

    @cached_property
    def slot(self) -> tuple[tuple[Any, ...], str]:
        """What the unique index is over."""
        return (self.namespace, self.key)

    def differing(self, other: Coordinates) -> frozenset[str]:
        """The axes of the fingerprint in which two requests differ; the route of another origin is not compared."""
        axes = self.fingerprint if self.namespace[-1] == other.namespace[-1] else self.fingerprint.keys() - {"route"}
        return frozenset(axis for axis in axes if other.fingerprint[axis] != self.fingerprint[axis])

    def namespace_axes(self, other: Coordinates) -> frozenset[str]:
        """The axes of the namespace in which two callers differ."""
        pairs = zip(NAMESPACE_AXES, self.namespace, other.namespace, strict=True)
        return frozenset(axis for axis, mine, its in pairs if mine != its)


def coordinates(command: Command) -> Coordinates | None:
    """The coordinates of an invocation that is keyed and passes admission; None for every other command."""
    if not command.invokes or not command.config:
        return None
    policy = command.under(command.config)
    if policy.first is not None or policy.operation is None or not command.key:
        return None
    return Coordinates(
        namespace_of(policy),
        command.key,
        policy.coordinates,
        policy.mode == "not_required" and policy.credential == "ready" and not policy.config.get("capacity"),
    )


def admitted_operation(command: Command) -> Mapping[str, Any] | None:
    """The configured operation that an invocation is admitted to; None for every other command."""
    if not command.invokes or not command.config:
        return None
    policy = command.under(command.config)
    return policy.operation if policy.first is None else None


def namespace_of(policy: Policy) -> tuple[Any, ...]:
    """The namespace of a caller, part by part."""
    instance, origin = policy.config["instance"], policy.origin
    own = (origin["kind"], origin["authority"]) == ("direct", instance)
    who = (policy.context.get(w) for w in _WHO)
    return (instance, *who, "own" if own else (origin["kind"], origin["authority"]))
