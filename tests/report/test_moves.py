"""State changes of a history: from a log each counts once, without one the differences between two looks do."""

from __future__ import annotations

from typing import Any

from conformance.history import Event, History
from conformance.moves import moves


def history(*looks: dict[str, Any]) -> History:
    events = tuple(Event(n, "rows", "rows", "", {"why": "end", "kinds": kinds}) for n, kinds in enumerate(looks))
    return History("s", "mutation-host", {}, events)


def change(seq: int, source: str | None, dest: str | None, id_: str = "a") -> dict[str, Any]:
    return {"seq": seq, "entity": "mutation_attempt", "id": id_, "from_state": source, "to_state": dest}


def attempts(state: str | None) -> dict[str, Any]:
    return {"attempts": [{"attempt": "a", "state": state}] if state else []}


def test_a_log_is_counted_once_however_often_it_was_looked_at() -> None:
    first = [change(1, None, "Prepared"), change(2, "Prepared", "Dispatching")]
    found = moves(history({"status_log": first[:1]}, {"status_log": first}, {"status_log": first}))
    assert found.looks == "log"
    assert found.counts == {"mutation_attempt": {">Prepared": 1, "Prepared>Dispatching": 1}}


def test_a_removed_row_is_a_move_to_nowhere() -> None:
    found = moves(history({"status_log": [change(1, None, "Prepared"), change(2, "Prepared", None)]}))
    assert found.counts == {"mutation_attempt": {">Prepared": 1, "Prepared>": 1}}


def test_without_a_log_the_looks_are_compared() -> None:
    found = moves(history(attempts("Prepared"), attempts("Prepared"), attempts("Completed")))
    assert found.looks == "sampled"
    assert found.counts == {"mutation_attempt": {">Prepared": 1, "Prepared>Completed": 1}}


def test_nothing_is_known_without_rows() -> None:
    found = moves(history())
    assert (found.looks, found.counts) == ("none", {})
