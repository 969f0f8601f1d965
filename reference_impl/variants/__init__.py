"""Legal variants: other right behaviours of the reference, each of which the suite has to let survive.

``names`` of a variant is ``<interpretation>/<reading>`` of ``spec/interpretations.yaml``, or ``<requirement>/<choice>``
where a requirement itself leaves the choice.
"""

from reference_impl.planting import Planted
from reference_impl.variants import (
    mutation,
    mutation_approvals,
    mutation_gate,
    mutation_keys,
    mutation_outcomes,
    mutation_recovery,
    push,
    push_workers,
    settle,
    settle_lanes,
)

VARIANTS: tuple[Planted, ...] = (
    *mutation.ATTEMPTS.items,
    *mutation_gate.GATE.items,
    *mutation_approvals.APPROVALS.items,
    *mutation_keys.KEYS.items,
    *mutation_recovery.RECOVERY.items,
    *mutation_outcomes.OUTCOMES.items,
    *push.WRITEBACKS.items,
    *push_workers.WORKERS.items,
    *settle.SETTLE.items,
    *settle_lanes.LANES.items,
)
