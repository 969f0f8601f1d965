"""Legal variants: other right behaviours of the reference, each of which the suite has to let survive.

``names`` of a variant is ``<interpretation>/<reading>`` of ``spec/interpretations.yaml``, or ``<requirement>/<choice>``
where a requirement itself leaves the choice.
"""

from reference_impl.planting import Planted, collected

VARIANTS: tuple[Planted, ...] = collected(__name__, __path__)
