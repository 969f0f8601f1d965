"""Deviations: faults planted in the reference, each of which the suite has to find and name."""

from reference_impl.deviations import (
    mutation_access,
    mutation_admission,
    mutation_approvals,
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
    settle_bugs,
    settle_generation,
    settle_order,
    settle_window,
)
from reference_impl.planting import Planted

DEVIATIONS: tuple[Planted, ...] = (
    *mutation_first.FIRST.items,
    *mutation_second.SECOND.items,
    *mutation_third.THIRD.items,
    *mutation_approvals.APPROVAL_FAULTS.items,
    *mutation_admission.ADMISSION_FAULTS.items,
    *mutation_outcomes.OUTCOMES.items,
    *mutation_disclosure.DISCLOSURE.items,
    *mutation_core_gate.CORE_GATE.items,
    *mutation_core_cancel.CORE_CANCEL.items,
    *mutation_keys.KEYS.items,
    *mutation_retention.RETENTION.items,
    *mutation_access.ACCESS.items,
    *push_first.FIRST.items,
    *push_second.SECOND.items,
    *settle_window.WINDOW.items,
    *settle_generation.GENERATION.items,
    *settle_order.ORDER.items,
    *settle_bugs.BUGS.items,
)
