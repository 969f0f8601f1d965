"""Namespaces and the unique index over namespace and key (KEY-022, KEY-025, REPLAY-039, REPLAY-040)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.coordinates import Coordinates
from conformance.checkers.mutation.facts import Command
from conformance.checkers.mutation.fingerprint import CONFLICT
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS
from conformance.checkers.mutation.slots import Generation


def _neighbours(index: Index) -> Iterator[tuple[Command, Coordinates, Generation]]:
    """Each candidate whose own key is free while the same key is held in another namespace, with that holder."""
    slots = index.slots
    for command, place in slots.keyed():
        others = [g for g in slots.under(place.key) if g.at.namespace != place.namespace and g.holds(command.seq)]
        if others and place.plain and slots.free(command, place):
            yield from ((command, place, other) for other in others)


@CHECKERS.checker("KEY-022", "suite", "wire", "answer", "rows")
def one_live_generation_for_namespace_and_key(index: Index) -> Iterator[Finding]:
    """A namespace and key have one live generation at most, and the same key of another namespace gets its own."""
    slots = index.slots
    if not slots.by_rows:
        return
    for command, place in slots.keyed():
        for second in index.during(command, frozenset({"host.invoke"})):
            its = slots.at.get(second.seq)
            if its is not None and its.slot == place.slot and not any(g.holds(second.seq) for g in slots.of(place)):
                yield Met("at-once")
    seen: object = None
    for rows in index.rows:
        if rows.reservations is None or rows.reservations is seen:
            continue
        seen = rows.reservations
        live: dict[Any, str] = {}
        for name, row in rows.reservations.items():
            generation = slots.generations.get(name)
            if generation is None or row.get("state") == "Expired":
                continue
            if live.setdefault(generation.at.slot, name) != name:
                allowed = f"one live generation of key {generation.at.key} in its namespace"
                yield Violation(allowed, f"{name[-6:]} lives beside {live[generation.at.slot][-6:]}", rows.seq, "rows")
                return
    for command, place, _ in _neighbours(index):
        yield Met("other-namespace")
        if slots.undisturbed(command) and index.linked and not any(g.owner is command for g in slots.of(place)):
            allowed = f"a generation of its own for {command.request_id}, whose namespace does not hold the key"
            yield Violation(allowed, "none was reserved", index.seen_by(command), "rows")
    yield from _taken_for_another_key(index)


def _taken_for_another_key(index: Index) -> Iterator[Violation]:
    """Calls that are shown what another key of their namespace holds, or hear a conflict on account of it.

    Whatever an index makes of a key (a part, a hash, a spelling), it is one over the caller's key only if it takes no
    two keys for one. A refusal of a key, for its length say, is no such thing.
    """
    slots = index.slots
    for command, place in slots.keyed():
        others = [g for g in slots.generations.values() if g.at.namespace == place.namespace and g.at.key != place.key]
        shown = next((g for g in others if g.attempt == command.told_attempt), None)
        if shown is not None:
            allowed = f"nothing of {shown.owner.request_id} for {command.request_id}, which has another key"
            yield Violation(allowed, f"it was shown attempt {shown.attempt[-6:]}", command.until, "answer")
        elif command.code == CONFLICT and place.plain and slots.undisturbed(command) and slots.free(command, place):
            holders = [g for g in others if g.holds(command.seq)]
            if holders and not any(g.holds(command.seq) for g in slots.under(place.key)):
                allowed = f"{command.request_id} on its own merits: nobody holds its key"
                yield Violation(allowed, f"it was told {command.code}", command.until, "answer")


@CHECKERS.checker("KEY-025", "suite", "wire", "answer", "rows")
def keys_are_compared_with_their_case(index: Index) -> Iterator[Finding]:
    """Two keys that differ in case alone are two keys: the second makes its own attempt."""
    slots = index.slots
    for command, place in slots.keyed():
        twins = (g for g in slots.generations.values() if g.at.namespace == place.namespace and g.at.key != place.key)
        folded = [g for g in twins if g.at.key.casefold() == place.key.casefold() and g.holds(command.seq)]
        if not folded or not place.plain or not slots.free(command, place):
            continue
        yield Met("case")
        if slots.undisturbed(command) and not _went_its_way(index, command):
            allowed = f"an attempt of its own under key {place.key}: {folded[0].at.key} is another key"
            yield Violation(allowed, _told(command), command.until, "answer")


@CHECKERS.checker("REPLAY-039", "suite", "wire", "answer", "rows")
def another_namespace_is_a_new_candidate(index: Index) -> Iterator[Finding]:
    """The same key and body of somebody else, or elsewhere, makes an attempt of its own."""
    for command, place, other in _neighbours(index):
        if place.differing(other.at):
            continue
        axes = place.namespace_axes(other.at)
        if len(axes) == 1:
            yield Met("origin-namesake" if _namesakes(place, other.at) else next(iter(axes)))
        if index.slots.undisturbed(command) and not _went_its_way(index, command):
            allowed = f"an attempt of its own for {command.request_id}: another {' and '.join(sorted(axes))}"
            yield Violation(allowed, _told(command), command.until, "answer")


def _namesakes(one: Coordinates, other: Coordinates) -> bool:
    """Whether a call came directly to an instance and the other one through a gateway of the same name."""
    origins = {one.namespace[-1], other.namespace[-1]}
    return "own" in origins and ("federated", one.namespace[0]) in origins


def _went_its_way(index: Index, command: Command) -> bool:
    """Whether the call made an attempt of its own: by the rows where they say whose they are, else by the wire."""
    if index.linked:
        return bool(index.slots.own_attempts(command))
    return index.slots.sent(command)


def _told(command: Command) -> str:
    return f"it made none, and its caller was told {command.code or command.classification}"


@CHECKERS.checker("REPLAY-040", "suite", "wire", "answer", "rows")
def another_namespace_shows_and_suppresses_nothing(index: Index) -> Iterator[Finding]:
    """No answer shows an original of another namespace, and none is a conflict or a replay on its account."""
    slots = index.slots
    foreign: dict[Any, list[Generation]] = {}
    for generation in slots.generations.values():
        foreign.setdefault(generation.at.namespace, []).append(generation)
    for command, _, other in _neighbours(index):
        state = other.holds(command.seq)
        if state in ("Pending", "Replayable"):
            yield Met(state.lower())
        if slots.undisturbed(command) and (command.code == CONFLICT or command.mutation.get("replayed")):
            allowed = f"{command.request_id} on its own merits: only another namespace holds its key"
            yield Violation(allowed, f"it was told {command.code or 'a replay'}", command.until, "answer")
    for command, place in slots.keyed():
        told = command.told_attempt
        if told is None:
            continue
        for generation in (g for ns, held in foreign.items() if ns != place.namespace for g in held):
            if generation.attempt == told:
                allowed = f"nothing of {generation.owner.request_id} for {command.request_id} of another namespace"
                yield Violation(allowed, f"it was shown attempt {told[-6:]}", command.until, "answer")
