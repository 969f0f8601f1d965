"""Deviations: faults planted in the reference, each of which the suite has to find and name."""

from reference_impl.deviations import (
    mutation_first,
    mutation_second,
    mutation_third,
    push_first,
    push_second,
    settle_generation,
    settle_order,
    settle_window,
)
from reference_impl.planting import Planted

DEVIATIONS: tuple[Planted, ...] = (
    *mutation_first.FIRST.items,
    *mutation_second.SECOND.items,
    *mutation_third.THIRD.items,
    *push_first.FIRST.items,
    *push_second.SECOND.items,
    *settle_window.WINDOW.items,
    *settle_generation.GENERATION.items,
    *settle_order.ORDER.items,
)
