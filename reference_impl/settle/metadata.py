"""Route metadata: which invocation modes there are, and what normalization makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference_impl.settle.model import Mode
from statemachines.spec import Spec


def modes(spec: Spec) -> Mapping[str, Mode]:
    """The invocation modes of the specification, by name."""
    table = spec.tables["invocation_modes"]
    found = {}
    for name in table.columns["mode"]:
        then = table.row(mode=name).then
        found[str(name)] = Mode(
            str(name), bool(then["waits"]), bool(then["coalesces"]), bool(then["preserves"]), str(then["filter"])
        )
    return found


class Metadata:
    """Normalization as routes are authored; nothing is stored (SETTLE-034 to SETTLE-036)."""

    def __init__(self, known: Mapping[str, Mode]) -> None:
        self._modes = known

    def normalize(self, mode: str, has_filter: bool) -> dict[str, Any]:
        """Accept or refuse one mode, with or without a Flow execution filter."""
        found = self._modes.get(mode)
        if found is None:
            return {"status": "refused", "reason": "there is no such mode"}
        if has_filter and found.filter == "refused":
            return {"status": "refused", "reason": "a full-record mode takes no Flow execution filter"}
        return {"status": "accepted", "mode": found.name}
