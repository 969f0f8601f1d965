"""Deviations: faults planted in the reference, each of which the suite has to find and name.

``pending.txt`` lists those that it does not name yet, or has never met, each with the reason. They prove nothing until
they leave the list, and the kill matrix counts them beside its result.
"""

from importlib.resources import files

from reference_impl.planting import Planted, collected

DEVIATIONS: tuple[Planted, ...] = collected(__name__, __path__)
_LINES = files(__name__).joinpath("pending.txt").read_text(encoding="utf-8").splitlines()
#: id of a deviation -> why it is pending
PENDING: dict[str, str] = {
    line.split(":", 1)[0].strip(): line.split(":", 1)[1].strip() for line in _LINES if line and not line.startswith("#")
}
