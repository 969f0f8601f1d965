"""What a mutation host says when all is done, all is refused or nothing is known: for drivers that only say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_ATTEMPT: Final = {"attempt": {"instance": "host-a", "id": "a1"}, "original_request_id": None, "replayed": False}

LAZY: Final[Mapping[str, Mapping[str, Any]]] = {
    "done": {
        "status": "success",
        "result": {},
        "mutation": {"classification": "applied", "cause": None, **_ATTEMPT},
    },
    "refused": {
        "status": "error",
        "error": {"code": "forbidden"},
        "mutation": {"classification": "not_attempted", "cause": "forbidden", **_ATTEMPT},
    },
    "unknown": {
        "status": "error",
        "error": {"code": "outcome_unknown"},
        "mutation": {"classification": "unknown", "cause": None, **_ATTEMPT},
    },
}
