"""Step 6 for a new attempt: is the credential of its connection ready? Nothing leaves the process here."""

from __future__ import annotations

from reference_impl.mutation_host.model import Call, Refusal
from reference_impl.mutation_host.settings import Settings


class Preflight:
    """Resolves readiness ahead of any record, so that a refusal leaves nothing behind."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def judge(self, call: Call) -> Refusal | None:
        """None when the credential is ready; a connection that is not configured needs none."""
        for connection in self._settings.current().get("connections", ()):
            state = connection["credential"]["state"]
            if connection["id"] == call.connection and state != "ready":
                return Refusal("unavailable", f"credential_{state}")
        return None
