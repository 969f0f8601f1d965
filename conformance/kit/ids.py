"""The id port: identifiers that are unique over restarts and equal between equal runs."""

from __future__ import annotations

import uuid

from conformance.kit.seam import Seam

_NAMESPACE = uuid.UUID("6f6e6365-7072-4f6f-8000-000000000000")


class IdPort:
    """Makes UUIDs from the opaque run id of the last ``reset``, which the suite never uses twice in a run."""

    def __init__(self, seam: Seam, run: str) -> None:
        self._seam = seam
        self._run = uuid.uuid5(_NAMESPACE, run).hex[:16]
        self._count = 0

    def new(self, step: str) -> str:
        """A new UUID, as text."""
        self._seam.reach(step, "id")
        self._count += 1
        return str(uuid.UUID(f"{self._run}{self._count:016x}"))
