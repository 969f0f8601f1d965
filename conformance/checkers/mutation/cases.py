"""Every invocation of a history as a case: what its configuration makes of it, what it presents, whom it meets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from conformance.checkers.base import Violation
from conformance.checkers.mutation.facts import END, Command, Connection
from conformance.checkers.mutation.policy import Policy, Presented

if TYPE_CHECKING:
    from conformance.checkers.mutation.index import Index

RETENTION_MS: Final = 86_400_000
#: A host's clock runs ahead of the suite's base by the ticks of its own reads.
TICKS_MS: Final = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One invocation. ``plain``: answered, struck by no fault, under one configuration, in trusted time that stood.

    ``fresh``: no other call with its key was sent before its answer, so that nobody can hold the key but itself.
    """

    command: Command
    policy: Policy
    presented: Presented | None
    wall_ms: int
    plain: bool
    fresh: bool

    @property
    def candidate(self) -> bool:
        """Whether this call certainly gets as far as the checks of a new attempt, undisturbed."""
        return self.plain and self.fresh and self.policy.first is None

    @property
    def said(self) -> Mapping[str, Any]:
        """The answer without the request id: what may be compared between calls."""
        return {name: value for name, value in self.command.result.items() if name != "request_id"}

    @property
    def wording(self) -> str:
        """The same as one text, in which the caller's own request id is nobody's in particular."""
        return text_of(self.said).replace(self.command.request_id, "<request id>")


def make_cases(index: Index) -> tuple[Case, ...]:
    """The cases of a history, in order."""
    keyed: dict[tuple[str, str], list[Command]] = {}
    found = []
    policies = [c.under(index.config_at(c.seq)) for c in index.invocations]
    for command, policy in zip(index.invocations, policies, strict=True):
        if command.key:
            keyed.setdefault((policy.namespace, command.key), []).append(command)
    for command, policy in zip(index.invocations, policies, strict=True):
        clock = index.clock_at(command.seq)
        wall = clock.wall_ms if clock else 0
        rivals = keyed[policy.namespace, command.key] if command.key else [command]
        presented = policy.presented(wall) if policy.first is None else None
        found.append(
            Case(
                command,
                policy,
                presented,
                wall,
                plain=_plain(index, command, presented, wall),
                fresh=all(other is command or other.seq > command.until for other in rivals),
            )
        )
    return tuple(found)


def _plain(index: Index, command: Command, presented: Presented | None, wall_ms: int) -> bool:
    clock = index.clock_at(command.seq)
    near = presented is not None and 0 < presented.record["expires_at"] - wall_ms <= TICKS_MS
    return (
        command.outcome == "done"
        and not index.struck(command)
        and not index.reconfigured(command)
        and not near
        and clock is not None
        and clock.trusted
        and index.clock_at(command.until) == clock
    )


def used_before(index: Index, case: Case) -> str | None:
    """Where what a case presents was used before it came: ``here`` by the wire or the rows, ``elsewhere`` by record."""
    presented = case.presented
    if presented is None:
        return None
    rows = index.rows_before(case.command.seq)
    if rows is not None and any((s["issuer"], s["reference"]) == presented.name for s in rows.spends or ()):
        return "here"
    for other in presenting(index, presented):
        if any(c.seq < case.command.seq for c in index.connections_of(other.command)):
            return "here"
    return "elsewhere" if presented.record["spent"] else None


def presenting(index: Index, presented: Presented) -> Iterator[Case]:
    """The cases that present the same record, and for which it verifies."""
    for other in index.cases:
        if other.presented is not None and other.presented.name == presented.name and not other.presented.fails:
            yield other


def holder(index: Index, case: Case) -> tuple[Case, Connection] | None:
    """The call that certainly holds the key of a case, by a request of its own whose retention is not over."""
    for other in reversed(index.cases):
        command = other.command
        if command.seq >= case.command.seq or command.key != case.command.key or not command.key:
            continue
        if other.policy.namespace != case.policy.namespace:
            continue
        for connection in index.connections_of(command):
            sent = index.clock_at(connection.seq)
            alive = sent is not None and case.wall_ms - sent.wall_ms < RETENTION_MS - TICKS_MS
            if connection.seq < case.command.seq and alive and connection.how != "reset":
                return other, connection
    return None


def state_of(index: Index, held: Case, connection: Connection, seq: int) -> str | None:
    """In which state a reservation is that a request stands for, as far as the wire tells; None where it does not."""
    if connection.seq < seq < min(connection.end_seq, held.command.until):
        return "pending"
    if held.command.outcome != "done" or index.struck(held.command) or held.command.until == END:
        return None
    return "replayable" if connection.known else "quarantined"


def not_sent(index: Index, case: Case, codes: frozenset[str], why: str) -> Iterator[Violation]:
    """Violations of: the caller hears one of these codes, and nothing is sent."""
    command = case.command
    wanted = " or ".join(sorted(codes))
    for connection in index.connections_of(command):
        yield Violation(f"{wanted} and no request: {why}", f"{connection.proc} connected", connection.seq, "wire")
        return
    if command.code not in codes:
        heard = command.code or "success"
        yield Violation(f"{wanted}: {why}", f"the caller was told {heard}", command.until, "answer")


def text_of(value: Any) -> str:
    """A value as one comparable text."""
    return json.dumps(value, sort_keys=True)
