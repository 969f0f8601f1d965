"""State changes of a history, counted by lifecycle: what the diagrams of a report show as taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.history import History
from conformance.rows import states_of

#: How closely the suite could follow the rows of one schedule (DESIGN section 5): by a log that misses nothing, by
#: looks between which something may have happened unseen, or not at all.
LOG: Final = "log"
SAMPLED: Final = "sampled"
BLIND: Final = "none"
#: Stands between the two states of a move, as in ``Prepared>Dispatching``; a side is empty where there is no row.
ARROW: Final = ">"


@dataclass(frozen=True, slots=True)
class Moves:
    """How the rows were followed (:data:`LOG`, :data:`SAMPLED`, :data:`BLIND`), and lifecycle -> move -> count."""

    looks: str = BLIND
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def moves(history: History) -> Moves:
    """The state changes of one schedule, of whatever family.

    With a ``status_log`` each of its rows counts once. Without one the differences between two looks count instead, so
    that two changes in a row are seen as one.
    """
    found: dict[str, Counter[str]] = {}
    log: tuple[Mapping[str, Any], ...] = ()
    states: dict[tuple[str, str], str | None] = {}
    looks = BLIND
    for event in history.of("rows"):
        kinds = event.data["kinds"]
        if "status_log" in kinds:
            # The log only grows, and a later look has all of an earlier one.
            looks, log = LOG, max(log, kinds["status_log"], key=len)
        elif looks != LOG:
            looks = SAMPLED
            states = _differ(states, states_of(history.family, kinds), found)
    if looks == LOG:
        found = {}
        for row in log:
            _count(found, row["entity"], row["from_state"], row["to_state"])
    return Moves(looks, {entity: dict(sorted(counts.items())) for entity, counts in sorted(found.items())})


def _differ(
    before: dict[tuple[str, str], str | None],
    now: Mapping[tuple[str, str], str | None],
    found: dict[str, Counter[str]],
) -> dict[tuple[str, str], str | None]:
    for key, state in now.items():
        if state != before.get(key):
            _count(found, key[0], before.get(key), state)
    return {**before, **now}


def _count(found: dict[str, Counter[str]], entity: str, source: str | None, dest: str | None) -> None:
    found.setdefault(entity, Counter())[f"{source or ''}{ARROW}{dest or ''}"] += 1
