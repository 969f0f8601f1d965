"""Variants: other right behaviours of the reference, each of which the suite has to accept."""

from reference_impl.planting import Planted

VARIANTS: tuple[Planted, ...] = ()
