"""The readings of the lane order, as data, agree with the functions that implement them."""

from statemachines.lanes import READINGS
from statemachines.spec import load

CYCLE_BREAK = load().interpretations["Cycle broken by the ingress key"]


def test_one_reading_of_the_cycle_break_is_taken() -> None:
    assert [reading.status for reading in CYCLE_BREAK.readings].count("taken") == 1


def test_the_readings_that_may_be_declared_are_those_that_exist() -> None:
    lettered = {
        reading.text.partition(".")[0]: reading.status
        for reading in CYCLE_BREAK.readings
        if reading.status in {"taken", "declarable"} and reading.text.partition(".")[0] in READINGS
    }
    assert lettered == {"A": "declarable", "B": "taken", "D": "declarable"}
    assert set(lettered) == set(READINGS)
