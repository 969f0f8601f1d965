"""Rarity: what was never tried comes first, what leads to rare things comes more often, and nothing dies out."""

from __future__ import annotations

from typing import Any

from conformance.search.rarity import LEAST, UNTRIED, Rarity, Reached


def rows(*moves: tuple[str | None, str], **others: int) -> dict[str, Any]:
    """Rows whose status log holds these moves of one attempt, and so many rows of other kinds."""
    log = [{"entity": "mutation_attempt", "from_state": a, "to_state": b} for a, b in moves]
    return {"status_log": log, **{kind: [{}] * count for kind, count in others.items()}}


def test_a_move_that_was_not_tried_here_comes_first() -> None:
    rarity = Rarity("mutation-host")
    rarity.begin()
    assert rarity.weight("invoke") == UNTRIED
    rarity.led_to("invoke", rows(), ())
    assert rarity.weight("invoke") < UNTRIED == rarity.weight("kill")


def test_what_leads_to_rare_things_weighs_more_than_what_leads_to_nothing() -> None:
    rarity = Rarity("mutation-host")
    for _ in range(50):
        rarity.begin()
        rarity.led_to("idle", rows(), ())
    for number in range(50):
        rarity.begin()
        states = ("Prepared", "Dispatching", "Completed", "Failed", "Aborted")
        rarity.led_to("busy", rows((None, states[number % 5])), ())
    rarity.begin()
    assert rarity.weight("busy") > rarity.weight("idle") >= LEAST


def test_moves_of_rows_are_counted_once_each() -> None:
    rarity = Rarity("mutation-host")
    rarity.begin()
    rarity.led_to("invoke", rows((None, "Prepared")), ())
    rarity.led_to("invoke", rows((None, "Prepared"), ("Prepared", "Dispatching")), ())
    assert dict(rarity.reached.moves) == {
        ("mutation_attempt", None, "Prepared"): 1,
        ("mutation_attempt", "Prepared", "Dispatching"): 1,
    }
    assert rarity.reached.states[("mutation_attempt", "Dispatching")] == 1


def test_rows_without_a_lifecycle_and_flags_make_another_situation() -> None:
    rarity = Rarity("mutation-host")
    for count in (0, 1, 2, 3):
        rarity.begin()
        rarity.led_to("invoke", rows(diagnostics=count), ())
    assert len(rarity.reached.situations) == 3, "none, one, many"
    rarity.led_to("invoke", rows(diagnostics=1), ("held",))
    assert len(rarity.reached.situations) == 4


def test_a_driver_without_rows_can_be_walked_too() -> None:
    rarity = Rarity("mutation-host")
    rarity.begin()
    rarity.led_to("invoke", None, ())
    assert rarity.reached.situations == {(): 1}


def test_histograms_add_up_and_are_written_rarest_first() -> None:
    whole = Reached()
    for times in (1, 2):
        rarity = Rarity("mutation-host")
        for _ in range(times):
            rarity.begin()
            rarity.led_to("invoke", rows((None, "Prepared")), ())
        rarity.led_to("kill", rows((None, "Prepared"), ("Prepared", "Aborted")), ())
        whole.add(rarity.reached)
    assert whole.to_json() == {
        "walks": 3,
        "situations": 1,
        "states": 2,
        "moves": [["mutation_attempt", "Prepared", "Aborted", 2], ["mutation_attempt", None, "Prepared", 3]],
        "chosen": {"invoke": 3, "kill": 2},
    }
