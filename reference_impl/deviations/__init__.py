"""Deviations: faults planted in the reference, each of which the suite has to find and name."""

from reference_impl.deviations import (
    mutation_core_cancel,
    mutation_core_gate,
    mutation_disclosure,
    mutation_first,
    mutation_keys,
    mutation_outcomes,
    mutation_retention,
    mutation_second,
    mutation_third,
    push_first,
    push_second,
)
from reference_impl.planting import Planted

DEVIATIONS: tuple[Planted, ...] = (
    *mutation_first.FIRST.items,
    *mutation_second.SECOND.items,
    *mutation_third.THIRD.items,
    *mutation_outcomes.OUTCOMES.items,
    *mutation_disclosure.DISCLOSURE.items,
    *mutation_core_gate.CORE_GATE.items,
    *mutation_core_cancel.CORE_CANCEL.items,
    *mutation_keys.KEYS.items,
    *mutation_retention.RETENTION.items,
    *push_first.FIRST.items,
    *push_second.SECOND.items,
)
