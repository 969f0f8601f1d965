"""The mutation host at the edges of time: a deadline or a retention that ends a little too early, or too late."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from conformance.kit import Time
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher, Evidence, NoRoom
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.keys import Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Record
from reference_impl.planting import HOST, Collection

MUTATION_EDGES = Collection("mutation-host")

#: More than any tick of a clock, less than any pause in a schedule but those at an edge.
_EARLY_MS: Final = 3_000


def _cut(call: Call) -> Call:
    return replace(call, deadline_mono_ms=call.deadline_mono_ms - _EARLY_MS)


# Given a call that comes to its gate when two seconds of its deadline are left; then it is aborted as too late.
@MUTATION_EDGES.plant("gate-closes-early", names="LIMIT-003", part="dispatcher")
class GateClosesEarly(Dispatcher):
    """Sends nothing that is unlikely to be answered in time."""

    def dispatch(self, call: Call, attempt: str, voice: Voice) -> Answer:
        return super().dispatch(_cut(call), attempt, voice)


# Given a provider that answers when two seconds are left; then nobody is there to hear it.
@MUTATION_EDGES.plant("gives-up-early", names="LIMIT-003", part="dispatcher")
class GivesUpEarly(Dispatcher):
    """Keeps the last seconds of a deadline for its own work."""

    def send(self, call: Call) -> Evidence:
        return super().send(_cut(call))


# Given a call that stood still for most of its time and a provider that stalls; then it waits twenty seconds more.
@MUTATION_EDGES.plant("deadline-from-dispatch", names="LIMIT-003", part="dispatcher")
class DeadlineFromDispatch(Dispatcher):
    """Counts the deadline from the dispatch, as a client library does with its timeout."""

    def send(self, call: Call) -> Evidence:
        now = self._ports.clock.now("invoke.send_clock")
        return super().send(replace(call, deadline_mono_ms=now.mono_ms + 20_000))


# Given a duplicate whose original is answered when two seconds are left; then it was told of a timeout before.
@MUTATION_EDGES.plant("waits-too-short", names="LIMIT-003", part="observer")
class WaitsTooShort(Observer):
    """Ends a wait a little ahead of its deadline."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        return super().observe(_cut(call), record, voice)


# Given a known result whose retention ends in two seconds; when its key comes with another request; then that is sent.
@MUTATION_EDGES.plant("retention-over-early", names="RET-012", part="ledger")
class RetentionOverEarly(Ledger):
    """Retires what is about to expire, so that housekeeping need not come back for it."""

    def expired(self, step: str, now: Time) -> list[tuple[str, str, str]]:
        return super().expired(step, replace(now, wall_ms=now.wall_ms + _EARLY_MS))


class _EarlyObserver(Observer):
    def decide(self, call: Call, record: Record | None, now: Time) -> str:
        return super().decide(call, record, replace(now, wall_ms=now.wall_ms + _EARLY_MS))


class _EarlyDispatcher(Dispatcher):
    def may_replace(self, held: Record, now: Time) -> bool:
        return super().may_replace(held, replace(now, wall_ms=now.wall_ms + _EARLY_MS))


# The same where the next request under the key finds it.
@MUTATION_EDGES.plant("key-free-early", names="RET-012", part=HOST)
class KeyFreeEarly(MutationHost):
    """Takes a key over whose retention is as good as over."""

    observer_class = _EarlyObserver
    dispatcher_class = _EarlyDispatcher


class _LooksAheadDispatcher(Dispatcher):
    room: int | None = None

    def prepare(self, call: Call, attempt: str) -> Record | None:
        with self._store.transaction("invoke.room") as tx:
            full = self._ledger.is_full(tx, call.capacity)
        if full and call.key is not None:
            raise NoRoom
        return super().prepare(replace(call, capacity=None), attempt)


# Given room for one more key; when two candidates come at once; then both are let in.
@MUTATION_EDGES.plant("room-looked-up-ahead", names="RET-026", part="dispatcher")
class RoomLookedUpAhead(_LooksAheadDispatcher):
    """Looks whether there is room ahead of the transaction that takes it."""
