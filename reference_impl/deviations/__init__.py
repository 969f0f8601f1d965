"""Deviations: faults planted in the reference, each of which the suite has to find and name."""

from reference_impl.planting import Planted, collected

DEVIATIONS: tuple[Planted, ...] = collected(__name__, __path__)
