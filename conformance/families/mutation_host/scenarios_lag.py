"""Known results without an effect that come about while time is not trusted, and their repair."""

from __future__ import annotations

from typing import Final

from conformance.families.mutation_host.scenarios import RETENTION_MS, cancel
from conformance.families.mutation_host.scenarios_keys import ask, quiet
from conformance.search.program import Op, crash_after, kill, pause_after, recover, release, script, start, time

_DAYS_MS: Final = 2 * RETENTION_MS
_PREPARED: Final = ("mutation_attempt", None, "Prepared")

#: Recovery aborts one attempt, a cancel the second, and the third is refused: none of them has a time to be kept from.
_UNTRUSTED_WITHOUT_EFFECT = quiet(
    "untrusted-without-effect",
    (
        start("w0"),
        crash_after("w0", *_PREPARED),
        ask("w0", "q0", "k0"),
        script("hold"),
        start("w1"),
        ask("w1", "q1", "k1"),
        start("w2"),
        pause_after("w2", *_PREPARED),
        ask("w2", "q2", "k2"),
        time(0, wall_jump_ms=-_DAYS_MS, trusted=False),
        start("c1"),
        cancel("c1", "q2"),
        Op("resume", {"proc": "w2"}),
        release("w1", "definite-refusal"),
        start("r1"),
        recover("r1"),
        time(0, wall_jump_ms=_DAYS_MS, trusted=True),
        *(kill(p) for p in ("w1", "w2", "c1", "r1")),
        start("r2"),
        recover("r2"),
        start("w3"),
        *(ask("w3", f"other-k{n}", f"k{n}", n=2) for n in range(3)),
        *(ask("w3", f"same-k{n}", f"k{n}") for n in range(3)),
    ),
)

LAG_SCENARIOS: Final = (_UNTRUSTED_WITHOUT_EFFECT,)
