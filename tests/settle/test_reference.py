"""The lanes of the reference by themselves: whatever arrives and fails, each row is consumed exactly once.

Episodes are played on values, without a store: rows arrive in random batches, heads fail at random, and at the end
every row is worked off. The lanes are those of a rolling upgrade, cycles among them.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from reference_impl.settle.lane import Lane
from reference_impl.settle.model import Event
from statemachines.lanes import Row, has_cycle, verdict

EPISODES = 400


def event(id_: int, ordinal: int, second: int) -> Event:
    return Event(Row(id_, ordinal, second, 0), "pending", None, 0, None, None, None, False, f"p{id_}")


def lane_of(draw: random.Random, size: int) -> list[Event]:
    """Rows 1 to ``size`` in ingress order, some without an ordinal, the ordinals of the others in any order."""
    ordinals = list(range(1, size + 1))
    draw.shuffle(ordinals)
    return [event(i + 1, 0 if draw.random() < 0.4 else ordinals[i], i) for i in range(size)]


class Episode:
    """One lane from its first arrival to its last execution."""

    def __init__(self, draw: random.Random, rows: list[Event], lane_class: type[Lane]) -> None:
        self.draw, self.arriving, self.lane_class = draw, list(rows), lane_class
        draw.shuffle(self.arriving)
        self.stored: dict[int, Event] = {}
        self.consumed: Counter[int] = Counter()

    def play(self) -> Counter[int]:
        for step in range(200):
            while self.arriving and self.draw.random() < 0.5:
                row = self.arriving.pop()
                self.stored[row.id] = row
            lane = self.lane_class(self.stored.values())
            head = lane.select(0, coalesces=True)
            if head is None and not self.arriving:
                assert not any(e.state == "pending" for e in self.stored.values()), "the lane stands still"
                return self.consumed
            if head is not None:
                self.execute(lane, head, fails=step < 60 and self.draw.random() < 0.4)
        raise AssertionError("the lane does not come to rest")

    def execute(self, lane: Lane, head: Event, *, fails: bool) -> None:
        for id_ in lane.generation(head) - {head.id}:
            self.stored[id_] = replace(self.stored[id_], state="skipped", served=head.id)
        members = [e for e in self.stored.values() if e.id == head.id or (e.served == head.id and e.state == "skipped")]
        sequence = lane.sequence(members)
        assert verdict([e.key for e in members], sequence, reading="B").ok
        assert sequence[-1] == head.id
        if fails:
            self.stored[head.id] = replace(self.stored[head.id], attempts=head.attempts + 1)
        else:
            self.stored[head.id] = replace(self.stored[head.id], state="processed", served=None)
            self.consumed.update(e.id for e in members)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_each_row_is_consumed_exactly_once(size: int) -> None:
    draw = random.Random(size)
    cyclic = 0
    for _ in range(EPISODES):
        rows = lane_of(draw, size)
        cyclic += has_cycle(e.key for e in rows)
        assert Episode(draw, rows, Lane).play() == Counter(range(1, size + 1))
    assert size < 3 or cyclic > EPISODES / 50


class AnyHead(Lane):
    def eligible(self, head: Event) -> bool:
        del head
        return True


class ComparisonsAlone(Lane):
    def find_consumed(self) -> frozenset[int]:
        return frozenset(e.id for e in self.events.values() if self.ended(e))


@pytest.mark.parametrize(("lane_class", "wrong"), [(AnyHead, 0), (ComparisonsAlone, 2)])
def test_the_episodes_notice_a_lost_and_a_doubled_row(lane_class: type[Lane], wrong: int) -> None:
    draw = random.Random(7)
    found: set[int] = set()
    for _ in range(EPISODES):
        consumed = Episode(draw, lane_of(draw, 5), lane_class).play()
        found |= {consumed[i] for i in range(1, 6)}
    assert wrong in found
