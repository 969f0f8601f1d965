"""What a host of settle lanes says when all is done, all is refused or nothing is known: for lazy drivers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

LAZY: Final[Mapping[str, Mapping[str, Any]]] = {
    "done": {"status": "done", "event": 1, "rows": [], "due": 0},
    "refused": {"status": "refused", "reason": "unavailable"},
    "unknown": {"status": "unknown"},
}
