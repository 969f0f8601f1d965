"""Lanes of a rolling upgrade, each made so that a few wrong orders or memberships show in it.

A lane is written as ``ID:oORDINAL@SECOND`` or ``ID:z@SECOND`` (no ordinal), with ``/DELIVERYSEQUENCE`` where it is not
0, in the order in which its rows are stored; seconds may have a fraction. The last row of each of :data:`ORDERS`
follows every other one: as the head of a claim it makes the whole lane one generation.
"""

from __future__ import annotations

import re
from typing import Any, Final

from conformance.families.settle_lanes.commands import row

_ROW: Final = re.compile(r"(\d+):(?:o(\d+)|z)@(\d+(?:\.\d+)?)(?:/(\d+))?")

#: name -> rows, the closing head last.
ORDERS: Final = {
    "stamped-inverted": "3:o10@1 1:o11@3 2:o9@2 4:o100@4 5:o101@7200",
    "zeros-three-level-ties": "10:z@2/1 9:z@2/1 1:z@2/2 2:z@3 12:z@1/7 13:o1@7200",
    "equal-ordinals": "22:o5@1 21:o5@2 8:z@9 23:o6@3 24:o7@7200",
    "late-zero": "7:z@90 1:o3@20 2:o2@30 6:z@10 8:o4@7200",
    "three-cycle": "1:o1@30 3:z@20 2:o2@10 4:o3@7200",
    "cycle-with-neighbours": "9:o8@62 1:o2@10 5:z@40 6:o4@50 2:o1@20 4:o5@30 8:o9@61 10:o10@7200",
    "sequence-decides": "3:o1@5/3 1:z@5/2 2:o2@5/1 4:o3@7200",
    "after-the-break": "4:o1@40 3:o2@30 2:z@20 1:o3@10 5:o4@7200",
    "zeros-against-ids": "9:z@1 3:z@2 10:o1@7200",
    "two-cycles": "8:o5@8 1:o2@1 2:z@2 3:o1@3 4:o4@4 5:o3@5 6:o6@6 7:z@7 9:o7@7200",
    "three-readings": "5:o1@5 4:o3@4 3:z@3 2:o2@2 1:o4@1 6:o5@7200",
    "four-kinds": "1:z@1 2:z@2 3:o2@4 4:o1@5 5:z@6 6:o3@7200",
    "zeros-alone": "3:z@4 5:z@1.101/7 4:z@1.102/3 7:z@5/10 8:z@5/9 2:z@6 1:z@6 9:z@3 10:z@7200",
    "ties": "6:o1@1.101/7 5:z@1.102/3 9:z@2.201/8 8:o2@2.202/2 3:z@5/2 4:o3@5/1 1:o4@5/5 2:z@5/4 20:o5@5/9 12:z@5/10 "
    "13:o6@6 14:z@6 15:o7@6 17:o9@7 16:o8@8 18:o10@7200",
}

#: (lane, boundary, head): what a generation of the lane takes in if the boundary was executed; None for no boundary.
MEMBERSHIPS: Final = (
    ("stamped-inverted", None, 3),
    ("stamped-inverted", 2, 1),
    ("zeros-three-level-ties", 12, 10),
    ("equal-ordinals", None, 22),
    ("equal-ordinals", 21, 8),
    ("late-zero", 6, 7),
    ("late-zero", 6, 2),
    ("late-zero", None, 1),
    ("late-zero", 2, 7),
    ("three-cycle", None, 2),
    ("three-cycle", 2, 3),
    ("cycle-with-neighbours", 1, 6),
    ("cycle-with-neighbours", 4, 9),
    ("cycle-with-neighbours", 5, 8),
    ("after-the-break", None, 1),
    ("after-the-break", 2, 4),
)

#: The same for lanes that come as a whole as well, so that each pair is judged for membership and for its place.
TWINS: Final = (
    ("ties", None, 3),
    ("ties", None, 4),
    ("ties", None, 1),
    ("ties", 3, 15),
    ("ties", 4, 14),
    ("ties", 2, 12),
    ("ties", None, 5),
    ("ties", 9, 16),
)


def rows(lane: str, source: str, offset: int = 0, **members: Any) -> list[dict[str, Any]]:
    """The rows of a lane for one source, Ids moved up by ``offset``; ``members`` are set on every row."""
    found = []
    for word in lane.split():
        match = _ROW.fullmatch(word)
        assert match is not None, word
        id_, ordinal, second, sequence = match.groups()
        extra = {"source": source, "sequence": int(sequence or 0), **members}
        found.append(row(int(id_) + offset, int(ordinal or 0), float(second), **extra))
    return found


def acyclic_part(lane: str) -> str:
    """A lane without its closing head."""
    return " ".join(lane.split()[:-1])
