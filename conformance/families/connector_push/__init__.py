"""Connector push in the machine."""

from conformance.checkers.push import CHECKERS, Index
from conformance.families.base import Family
from conformance.families.connector_push.contract import PushContract
from conformance.families.connector_push.lazy import LAZY
from conformance.families.connector_push.scenarios import SCENARIOS, TAIL
from conformance.families.connector_push.scenarios_edges import EDGES
from conformance.families.connector_push.scenarios_lane import LANE_SCENARIOS
from conformance.families.connector_push.scenarios_replay import REPLAYS
from conformance.families.connector_push.scenarios_slots import SLOTS
from conformance.families.connector_push.walks import WALK

CONNECTOR_PUSH = Family(
    id="connector-push",
    scenarios=(*SCENARIOS, *LANE_SCENARIOS, *REPLAYS, *SLOTS, *EDGES),
    tail=TAIL,
    contract=PushContract,
    checkers=CHECKERS,
    index=Index,
    walk=WALK,
    lazy=LAZY,
    roles={
        "concurrent-caller": frozenset({"push.trigger"}),
        "concurrent-worker": frozenset({"push.work", "recover"}),
        "source-deleted": frozenset({"push.delete_record"}),
    },
)
