"""Keys beside something that resembles their own: an origin of the same name, an earlier settlement, a late cancel."""

from __future__ import annotations

from typing import Any, Final

from conformance.families.mutation_host.config import NEARLY_MS
from conformance.families.mutation_host.scenarios import CONFIG, RETENTION_MS, cancel
from conformance.families.mutation_host.scenarios_keys import NEIGHBOURS, ask, quiet
from conformance.search.program import kill, recover, release, script, start, time

_DAYS_MS: Final = 2 * RETENTION_MS
_HOURS_MS: Final = 6 * 3_600_000

_NAME: Final = CONFIG["instance"]
_ALICE: Final[dict[str, Any]] = {"caller": "alice", "tenant": None, "realm": None, "executor": None}
_THROUGH: Final = {**_ALICE, "origin": {"kind": "federated", "authority": _NAME}}
#: A gateway has the name of the instance that it leads to.
_NAMESAKES: Final = {
    **NEIGHBOURS,
    "callers": [*NEIGHBOURS["callers"], {**_ALICE, "may": ["thing.write", "thing.touch"], "origin": _NAME}],
    "origins": [{"authority": _NAME, "route": "things", "route_revision": "1"}],
}

BESIDE_SCENARIOS: Final = (
    quiet(
        "namesakes",
        (
            start("w1"),
            ask("w1", "q1", "k1"),
            ask("w1", "q2", "k1", context=_THROUGH),
            ask("w1", "q3", "k1"),
            ask("w1", "q4", "k2", context=_THROUGH),
            ask("w1", "q5", "k2"),
        ),
        _NAMESAKES,
    ),
    # Hours ago another outcome was settled with trusted time; this one is settled without.
    quiet(
        "untrusted-behind-trusted",
        (
            *(start(p) for p in ("w1", "w2")),
            ask("w1", "q0", "k0"),
            time(_HOURS_MS),
            script("hold"),
            ask("w1", "q1", "k1"),
            time(0, wall_jump_ms=-_DAYS_MS, trusted=False),
            release("w1"),
            time(0, wall_jump_ms=_DAYS_MS, trusted=True),
            *(kill(p) for p in ("w1", "w2")),
            start("r1"),
            recover("r1"),
            time(RETENTION_MS - NEARLY_MS),
            start("w4"),
            ask("w4", "q4", "k1", n=2),
            ask("w4", "q5", "k1"),
        ),
    ),
    # The caller gives up what nobody knows the outcome of, and asks for it once more.
    quiet(
        "quarantine-cancelled",
        (
            script("apply-then-drop"),
            start("w1"),
            ask("w1", "q1", "k1"),
            start("c1"),
            cancel("c1", "q1"),
            ask("w1", "q2", "k1"),
            ask("w1", "q3", "k1", n=2),
        ),
    ),
)
