"""Settle lanes in the machine: a protocol without a remote, in which the suite plays the Flow."""

from conformance.checkers.settle import CHECKERS, Index, tables
from conformance.families.base import Family
from conformance.families.settle_lanes.faults import INSTEAD
from conformance.families.settle_lanes.lazy import LAZY
from conformance.families.settle_lanes.picture import lane_picture
from conformance.families.settle_lanes.scenarios import TAIL, WINDOWS
from conformance.families.settle_lanes.scenarios_claims import CLAIMS
from conformance.families.settle_lanes.scenarios_edges import EDGES
from conformance.families.settle_lanes.scenarios_generation import GENERATIONS
from conformance.families.settle_lanes.scenarios_input import INPUTS
from conformance.families.settle_lanes.scenarios_order import ORDER_SCENARIOS
from conformance.families.settle_lanes.scenarios_window import WINDOW_NEIGHBOURS
from conformance.families.settle_lanes.walks import WALK
from conformance.remote.remote import NoContract

SETTLE_LANES = Family(
    id="settle-lanes",
    scenarios=(*WINDOWS, *WINDOW_NEIGHBOURS, *EDGES, *CLAIMS, *GENERATIONS, *INPUTS, *ORDER_SCENARIOS),
    tail=TAIL,
    contract=lambda _: NoContract(),
    checkers=CHECKERS,
    index=Index,
    walk=WALK,
    lazy=LAZY,
    instead=INSTEAD,
    picture=lane_picture,
    exercised=tables.exercised,
    tables=tables.expected,
)
