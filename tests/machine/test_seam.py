"""The seam: what is armed strikes at the right call, once or always, and nothing else does."""

from __future__ import annotations

import pytest

from conformance.kit import Cut, Seam, StoreFailed
from conformance.kit.seam import POINT_CALLS, Message


class Bench:
    """A seam whose events are collected; a pause is resumed as soon as control goes back."""

    def __init__(self) -> None:
        self.said: list[Message] = []
        self.suspended = 0
        self.seam = Seam("w1", self.said.append, self._suspend)

    def _suspend(self) -> None:
        self.suspended += 1
        self.seam.paused = None

    def events(self) -> list[str]:
        return [str(message["event"]) for message in self.said]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_call_without_anything_armed_does_nothing(bench: Bench) -> None:
    assert bench.seam.reach("gate", "begin") is None
    assert bench.said == []


def test_a_fault_strikes_at_the_nth_matching_call_from_arming_and_is_then_spent(bench: Bench) -> None:
    bench.seam.reach("gate", "begin")
    bench.seam.arm("gate:begin", 2, "fail", None, sticky=False)
    bench.seam.reach("other", "begin")
    bench.seam.reach("gate", "begin")
    with pytest.raises(StoreFailed, match="gate:begin"):
        bench.seam.reach("gate", "begin")
    bench.seam.reach("gate", "begin")
    assert bench.said == [{"event": "fired", "point": "gate:begin", "nth": 3, "action": "fail", "actor": "w1"}]


def test_a_sticky_fault_strikes_again_until_it_is_lifted(bench: Bench) -> None:
    bench.seam.arm("gate:read", 2, "fail", None, sticky=True)
    bench.seam.reach("gate", "read")
    for _ in range(3):
        with pytest.raises(StoreFailed):
            bench.seam.reach("gate", "read")
    bench.seam.arm("gate:read", 1, "none", None, sticky=False)
    assert bench.seam.reach("gate", "read") is None


def test_lifting_one_point_leaves_the_others_armed(bench: Bench) -> None:
    bench.seam.arm("a:read", 1, "fail", None, sticky=False)
    bench.seam.arm("b:read", 1, "fail", None, sticky=False)
    bench.seam.arm("a:read", 1, "none", None, sticky=False)
    bench.seam.reach("a", "read")
    with pytest.raises(StoreFailed):
        bench.seam.reach("b", "read")


@pytest.mark.parametrize("world", ["committed", "rolled_back"])
def test_a_lost_acknowledgement_tells_the_store_which_world_it_is(bench: Bench, world: str) -> None:
    bench.seam.arm("gate:commit", 1, "lose-ack", world, sticky=False)
    assert bench.seam.reach("gate", "commit") == world
    assert bench.seam.reach("gate", "commit") is None


def test_a_lost_acknowledgement_without_a_world_is_a_committed_one(bench: Bench) -> None:
    bench.seam.arm("gate:commit", 1, "lose-ack", None, sticky=False)
    assert bench.seam.reach("gate", "commit") == "committed"


@pytest.mark.parametrize("action", ["pause", "hang"])
def test_a_pause_gives_control_back_and_says_where(bench: Bench, action: str) -> None:
    bench.seam.arm("gate:begin", 1, action, None, sticky=False)
    bench.seam.reach("gate", "begin")
    assert bench.events() == ["fired", "paused"]
    assert bench.said[1] == {"event": "paused", "pause": 1, "point": "gate:begin", "actor": "w1"}
    assert bench.suspended == 1


def test_pauses_are_numbered(bench: Bench) -> None:
    bench.seam.arm("*", 1, "pause", None, sticky=True)
    bench.seam.reach("a", "begin")
    bench.seam.reach("b", "read")
    assert [m["pause"] for m in bench.said if m["event"] == "paused"] == [1, 2]


def test_the_star_matches_only_calls_that_the_action_fits(bench: Bench) -> None:
    bench.seam.arm("*", 1, "pause", None, sticky=True)
    for call in POINT_CALLS:
        bench.seam.reach("step", call)
    paused = {m["point"].rpartition(":")[2] for m in bench.said if m["event"] == "paused"}
    assert paused == {call for call, actions in POINT_CALLS.items() if "pause" in actions}
    assert not paused & {"tx-read", "write", "commit"}, "never inside a transaction"


@pytest.mark.parametrize(
    ("point", "action"),
    [
        ("gate:write", "pause"),
        ("gate:commit", "pause"),
        ("gate:committed", "fail"),
        ("gate:remote", "fail"),
        ("gate:begin", "lose-ack"),
        ("gate:nonsense", "pause"),
        ("gate", "pause"),
        ("gate:begin", "explode"),
    ],
)
def test_an_action_that_the_call_cannot_take_is_refused_with_a_sentence(bench: Bench, point: str, action: str) -> None:
    with pytest.raises(ValueError, match=f"cannot be made to {action}"):
        bench.seam.arm(point, 1, action, None, sticky=False)


def test_two_faults_on_one_call_both_count_it(bench: Bench) -> None:
    bench.seam.arm("gate:begin", 1, "pause", None, sticky=False)
    bench.seam.arm("gate:begin", 1, "fail", None, sticky=False)
    with pytest.raises(StoreFailed):
        bench.seam.reach("gate", "begin")
    assert bench.events() == ["fired", "paused", "fired"]


def test_recording_announces_every_call_with_its_number(bench: Bench) -> None:
    bench.seam.record = True
    bench.seam.reach("gate", "begin")
    bench.seam.reach("gate", "clock")
    bench.seam.reach("gate", "begin")
    assert [(m["point"], m["nth"]) for m in bench.said] == [("gate:begin", 1), ("gate:clock", 1), ("gate:begin", 2)]


def test_after_a_cut_every_call_fails_before_anything_is_said(bench: Bench) -> None:
    bench.seam.record = True
    bench.seam.cut = True
    with pytest.raises(Cut):
        bench.seam.reach("gate", "begin")
    assert bench.said == []
    assert not issubclass(Cut, Exception), "no handler of the implementation takes a crash for an error"


def test_a_process_that_is_killed_while_paused_never_goes_on() -> None:
    said: list[Message] = []

    def killed() -> None:
        seam.cut = True
        seam.paused = None

    seam = Seam("w1", said.append, killed)
    seam.arm("gate:begin", 1, "pause", None, sticky=False)
    with pytest.raises(Cut):
        seam.reach("gate", "begin")
