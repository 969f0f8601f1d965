"""What a connector runtime says when all is done, all is refused or nothing is known: for drivers that only say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

LAZY: Final[Mapping[str, Mapping[str, Any]]] = {
    "done": {"status": "done", "pushes": [{"action": "push_contact", "status": "finalized"}]},
    "refused": {
        "status": "refused",
        "reason": "unavailable",
        "pushes": [{"action": "push_contact", "status": "refused", "reason": "unavailable"}],
    },
    "unknown": {
        "status": "unknown",
        "reason": "unavailable",
        "pushes": [{"action": "push_contact", "status": "unknown", "reason": "unavailable"}],
    },
}
