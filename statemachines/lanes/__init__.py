"""The order of a lane during a rolling upgrade: rows in, ids out.

Rows written by a new version carry an ordinal, rows of an older one do not. Two stamped rows compare by
ordinal, every other pair by the time of arrival, so "precedes" is not transitive and no sort can be trusted
with it. These functions know what can be said all the same:

    precedes(a, b)               the claim guard's pairwise comparison
    components(rows)             the true cycles, in order
    has_cycle(rows)              whether there is one
    replay(rows)                 the normative sequence; `READINGS` holds the other legitimate ones
    members(rows, boundary, head)  which rows one generation takes in
    verdict(rows, sequence)      whether somebody else's sequence is legitimate, and why not

Everything takes plain `Row` values and needs O(n log n) time and linear memory. `docs/lane-order.md`
explains it with a picture; `statemachines.lanes.oracle` computes the same by definition.
"""

from statemachines.lanes.components import components, has_cycle
from statemachines.lanes.membership import members
from statemachines.lanes.replay import READINGS, replay
from statemachines.lanes.rows import Id, LaneError, Row, ingress_key, ordinal_key, precedes
from statemachines.lanes.verdict import Verdict, verdict

__all__ = [
    "READINGS",
    "Id",
    "LaneError",
    "Row",
    "Verdict",
    "components",
    "has_cycle",
    "ingress_key",
    "members",
    "ordinal_key",
    "precedes",
    "replay",
    "verdict",
]
