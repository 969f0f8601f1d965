"""Virtual time and identifiers: equal runs see equal ones, and no two reads are alike."""

from __future__ import annotations

from conformance.kit import ClockPort, IdPort, Seam, Time
from conformance.kit.seam import Message


def seam() -> Seam:
    return Seam("w1", lambda _: None, lambda: None)


def clock(wall_ms: int = 1_000, mono_ms: int = 0, trusted: bool = True) -> ClockPort:
    return ClockPort(seam(), Time(wall_ms, mono_ms, trusted))


def test_each_read_ticks_a_millisecond_in_wall_and_elapsed_time() -> None:
    port = clock()
    assert [port.now("a"), port.now("a")] == [Time(1_001, 1, True), Time(1_002, 2, True)]


def test_a_peek_does_not_tick() -> None:
    port = clock()
    port.now("a")
    assert port.peek() == port.peek() == Time(1_001, 1, True)


def test_a_read_is_a_port_call() -> None:
    said: list[Message] = []
    watched = Seam("w1", said.append, lambda: None)
    watched.record = True
    ClockPort(watched, Time(0, 0, True)).now("lease")
    IdPort(watched, "r1").new("lease")
    assert [m["point"] for m in said] == ["lease:clock", "lease:id"]


def test_a_new_base_starts_anew() -> None:
    port = clock()
    port.now("a")
    port.set(Time(9_000, 5_000, False))
    assert port.peek() == Time(9_000, 5_000, False)


def test_elapsed_time_never_goes_back_even_by_the_ticks() -> None:
    port = clock(mono_ms=100)
    for _ in range(5):
        port.now("a")
    port.set(Time(1_000, 100, True))
    assert port.peek().mono_ms == 105
    port.set(Time(1_000, 50, True))
    assert port.peek().mono_ms == 105


def test_wall_time_may_jump_back_while_elapsed_time_goes_on() -> None:
    port = clock(wall_ms=50_000)
    port.now("a")
    port.set(Time(10_000, 2_000, True))
    assert port.peek() == Time(10_000, 2_000, True)


def test_trust_is_taken_over_also_without_progress() -> None:
    port = clock(mono_ms=10)
    port.now("a")
    port.set(Time(1_000, 10, False))
    assert not port.peek().trusted


def test_ids_are_unique_within_a_run_and_between_runs() -> None:
    one, two = IdPort(seam(), "r1"), IdPort(seam(), "r2")
    made = [one.new("a"), one.new("a"), two.new("a"), two.new("a")]
    assert len(set(made)) == 4


def test_equal_runs_make_equal_ids_of_the_usual_form() -> None:
    first = IdPort(seam(), "r1").new("a")
    assert first == IdPort(seam(), "r1").new("elsewhere")
    assert [len(part) for part in first.split("-")] == [8, 4, 4, 4, 12]
