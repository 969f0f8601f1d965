"""What a denied observation may show: nothing of a mutation, and no difference by the key (OBS-010, OBS-011)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.access import denial, gone_before_a_replay, gone_in_a_wait
from conformance.checkers.mutation.coordinates import namespace_of
from conformance.checkers.mutation.facts import Command
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS

#: The state in which a key is held -> the cell.
_HELD: Final = {"Pending": "pending", "Replayable": "settled", "Quarantined": "unknown"}


@CHECKERS.checker("OBS-010", "suite", "wire", "answer", "rows")
def denied_shows_no_metadata(index: Index) -> Iterator[Finding]:
    """Whoever asks for an original without access hears an error that carries no observation at all.

    So does a call whose access goes in its course, ahead of the last look at it.
    """
    for command, _ in _denied(index):
        held = _held(index, command)
        if held is None:
            continue
        if _admitted_before(index, command):
            yield Met(held)
        yield from _bare(command)
    for cell, gone in (("waiting", gone_in_a_wait(index)), ("reading", gone_before_a_replay(index))):
        for command, _ in gone:
            yield Met(cell)
            yield from _bare(command)


def _bare(command: Command) -> Iterator[Violation]:
    if command.result.get("mutation") is not None:
        shown = ", ".join(k for k, v in command.mutation.items() if v is not None) or "an observation"
        allowed = f"no metadata of a mutation for {command.request_id}, which is denied"
        yield Violation(allowed, f"the caller was shown {shown}", command.until, "answer")


@CHECKERS.checker("OBS-011", "suite", "wire", "answer", "rows")
def denied_keys_look_alike(index: Index) -> Iterator[Finding]:
    """The same request without access hears the same under a used key and under one that was never used."""
    groups: dict[str, list[Command]] = {}
    for command, lost in _denied(index):
        request = {k: v for k, v in command.request.items() if k not in ("request_id", "idempotency_key")}
        text = json.dumps([lost, index.config_at(command.seq), command.args["context"], request], sort_keys=True)
        groups.setdefault(text, []).append(command)
    for group in groups.values():
        # A key of which nothing was seen, without being known to be fresh, is none of either.
        fresh = [c for c in group if not index.slots.under(str(c.key)) and _never_asked(index, c)]
        if not fresh:
            continue
        for command in group:
            held = _held(index, command)
            if held is None:
                continue
            if _admitted_before(index, command):
                yield Met(held)
            if _said(command) != _said(fresh[0]):
                yield Violation(
                    f"the same refusal for {command.request_id} as for {fresh[0].request_id}, whose key is fresh",
                    "the two differ in more than the request id",
                    max(command.until, fresh[0].until),
                    "answer",
                )


def _denied(index: Index) -> Iterator[tuple[Command, str]]:
    """The answered keyed invocations that the configuration of their time denies, and in what respect."""
    for command in index.invocations:
        if command.outcome != "done" or not command.key or index.reconfigured(command):
            continue
        lost = denial(index, command, command.seq)
        if lost is not None:
            yield command, lost


def _admitted_before(index: Index, command: Command) -> bool:
    """Whether the same call would have been admitted under an earlier configuration: its access was taken away."""
    return any(denial(index, command, seq + 1) is None for seq, _ in index.configs if seq < command.seq)


def _held(index: Index, command: Command) -> str | None:
    """How the caller's own key is held, as a cell."""
    place = namespace_of(command.under(index.config_at(command.seq)))
    states = (g.holds(command.seq) for g in index.slots.under(str(command.key)) if g.at.namespace == place)
    return next((_HELD[s] for s in states if s in _HELD), None)


def _never_asked(index: Index, command: Command) -> bool:
    """Whether nobody asked under this key before."""
    return all(c.key != command.key for c in index.invocations if c.seq < command.seq)


def _said(command: Command) -> dict[str, Any]:
    return {k: v for k, v in command.result.items() if k != "request_id"}
