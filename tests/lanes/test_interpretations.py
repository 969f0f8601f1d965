"""The readings of the lane order, as data, agree with the functions that implement them."""

from pathlib import Path
from typing import Any

import yaml

from statemachines.lanes import READINGS

FILE = Path(__file__).parents[2] / "spec" / "interpretations" / "lane_order.yaml"
ENTRIES: list[dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))


def test_every_entry_has_the_common_shape_and_one_reading_taken() -> None:
    assert len({entry["id"] for entry in ENTRIES}) == len(ENTRIES) > 0
    for entry in ENTRIES:
        assert list(entry) == ["id", "source", "where", "problem", "readings", "proposed"]
        assert len(entry["readings"]) >= 2
        assert [reading["status"] for reading in entry["readings"]].count("taken") == 1
        for reading in entry["readings"]:
            assert list(reading) == ["id", "text", "status", "variant"]
            assert reading["status"] in {"taken", "accepted", "declarable", "rejected"}
            assert reading["variant"] is None


def test_the_readings_that_may_be_declared_are_those_that_exist() -> None:
    (cycle_break,) = (entry for entry in ENTRIES if entry["id"] == "lane-cycle-break")
    lettered = {
        reading["text"].partition(".")[0]: reading["status"]
        for reading in cycle_break["readings"]
        if reading["status"] in {"taken", "declarable"}
    }
    assert lettered == {"A": "declarable", "B": "taken", "D": "declarable"}
    assert set(lettered) == set(READINGS)
