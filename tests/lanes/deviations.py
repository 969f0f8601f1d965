"""The wrong orders and memberships of `golden_lanes.json`: planted as deviations, and tried here by themselves."""

from reference_impl.deviations.wrong_orders import MEMBERSHIPS, SEQUENCES, replay_lane_then_filter

__all__ = ["MEMBERSHIPS", "SEQUENCES", "replay_lane_then_filter"]
