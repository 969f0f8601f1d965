"""The configurations that the scenarios of settle lanes use (spec/schema/config.settle-lanes.schema.json)."""

from __future__ import annotations

from typing import Any, Final

FAMILY: Final = "settle-lanes"
WINDOW_MS: Final = 10_000
LEASE_MS: Final = 60_000
#: Longer than a lease and many windows, so that it is told apart from a settle timestamp.
BACKOFF_MS: Final = 100_000
BUDGET: Final = 3
#: Far enough from an edge that the ticks of a clock do not matter (ambiguity 'Exact due instant').
MARGIN_MS: Final = 1_000
PAST_WINDOW_MS: Final = WINDOW_MS + MARGIN_MS
PAST_LEASE_MS: Final = LEASE_MS + MARGIN_MS
PAST_BACKOFF_MS: Final = BACKOFF_MS + MARGIN_MS


def route(name: str, mode: str, *kinds: str) -> dict[str, Any]:
    """One route; of the kind of its own name where none is given."""
    return {"id": name, "kinds": list(kinds or (name,)), "mode": mode}


def config(*routes: dict[str, Any]) -> dict[str, Any]:
    """A host with these routes and the windows of the suite."""
    return {
        "family": FAMILY,
        "routes": list(routes),
        "windows": {"settle_ms": WINDOW_MS, "lease_ms": LEASE_MS},
        "retry": {"budget": BUDGET, "backoff_ms": BACKOFF_MS},
    }


#: Two settled routes and one of each existing mode; kind ``both`` goes to a settled and to a baseline route.
CONFIG: Final = config(
    route("settled", "settled", "settled", "both"),
    route("other", "settled"),
    route("preserve", "full_record_preserve", "preserve", "both"),
    route("full", "full_record"),
    route("latest", "latest"),
    route("each", "each"),
)
