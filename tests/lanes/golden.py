"""The golden lanes as rows, and small lanes in one line: `lane("1:o3 2:z 3:o2 4:o1")`, in ingress order."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from statemachines.lanes import Row

FILE = Path(__file__).parents[1] / "golden" / "golden_lanes.json"


@dataclass(frozen=True)
class Golden:
    """One golden lane: its rows in the order of the file, and everything that is known about it."""

    name: str
    rows: list[Row]
    closing_head: Row
    known: dict[str, Any]

    @property
    def inputs(self) -> dict[str, list[Row]]:
        """The two read orders under which the wrong implementations were recorded."""
        return {"as given": self.rows, "reversed": self.rows[::-1]}


def _row(raw: dict[str, Any]) -> Row:
    return Row(raw["id"], raw["enqueue_ordinal"], raw["created_date"], raw["delivery_sequence"])


DOCUMENT: dict[str, Any] = json.loads(FILE.read_text())
LANES = [
    Golden(lane["name"], [_row(row) for row in lane["rows"]], _row(lane["closing_head"]), lane)
    for lane in DOCUMENT["lanes"]
]


def lane(text: str) -> list[Row]:
    """Rows written as `id:oORDINAL` or `id:z`, one second apart."""
    rows = []
    for second, word in enumerate(text.split()):
        id_, _, ordinal = word.partition(":")
        rows.append(Row(int(id_), 0 if ordinal == "z" else int(ordinal[1:]), second, 0))
    return rows
