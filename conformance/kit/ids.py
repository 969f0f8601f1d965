"""The id port: identifiers that are unique over restarts and equal between equal runs."""

from __future__ import annotations

import uuid
from functools import lru_cache

from conformance.kit.seam import Seam

_NAMESPACE = uuid.UUID("6f6e6365-7072-4f6f-8000-000000000000")


class IdPort:
    """Makes UUIDs from the opaque run id of the last ``reset``, which the suite never uses twice in a run."""

    def __init__(self, seam: Seam, run: str) -> None:
        self._seam = seam
        self._run = _prefix(run)
        self._count = 0

    def new(self, step: str) -> str:
        """A new UUID, as text."""
        self._seam.reach(step, "id")
        self._count += 1
        digits = f"{self._run}{self._count:016x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


@lru_cache(maxsize=64)
def _prefix(run: str) -> str:
    """The half of every id that tells runs apart; schedule after schedule numbers its runs alike."""
    return uuid.uuid5(_NAMESPACE, run).hex[:16]
