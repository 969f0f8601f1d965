"""Scenarios about keys: other requests, other namespaces, and what time and restarts do to a live reservation.

Each is one schedule: what the sweep could add is met by the scenarios of a plain invocation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.families.mutation_host.config import NEARLY_MS
from conformance.families.mutation_host.scenarios import ALICE, CONFIG, DEADLINE_MS, FAMILY, RETENTION_MS, housekeep
from conformance.search.program import (
    SETTLE,
    Op,
    call,
    crash_after,
    kill,
    pause_before,
    recover,
    release,
    script,
    start,
    time,
)
from conformance.search.scenario import Scenario

_DAYS_MS: Final = 2 * RETENTION_MS


def _with(config: Mapping[str, Any], **members: Any) -> dict[str, Any]:
    """A configuration whose operations have other members."""
    return {**config, "operations": [{**op, **members} for op in _operations(config)]}


def _operations(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    operations: list[Mapping[str, Any]] = config["operations"]
    return operations


def ask(
    proc: str,
    request_id: str,
    key: str,
    *,
    context: Mapping[str, Any] = ALICE,
    operation: str = "thing.write",
    connection: str = "conn-a",
    revision: str = "r1",
    marker: str = "m1",
    n: int = 1,
    approval: Mapping[str, str] | None = None,
    **members: str,
) -> Op:
    """One keyed invocation, of which any coordinate may be another one; ``members`` belong to its input."""
    request: dict[str, Any] = {
        "version": "v1alpha2",
        "request_id": request_id,
        "operation": operation,
        "connection": connection,
        "revision": revision,
        "input": {"marker": marker, "n": n, **members},
        "idempotency_key": key,
    }
    if approval is not None:
        request["approval"] = dict(approval)
    return call(proc, "host.invoke", context=dict(context), request=request)


def quiet(name: str, ops: tuple[Op, ...], config: Mapping[str, Any] = CONFIG, retry: tuple[Op, ...] = ()) -> Scenario:
    """A scenario that is run as it stands."""
    again = retry or (start("e1", config), recover("e1"), SETTLE, ask("e1", "q98", "k1"))
    return Scenario(f"mutation/{name}", FAMILY, config, ops, retry=again, remote_faults=False, strikes=frozenset())


_WRITE: Final[Mapping[str, Any]] = _operations(CONFIG)[0]
#: Two more keyed operations, of which one differs in the last part of its name and one in what qualifies it.
TWO: Final = {
    **CONFIG,
    "operations": [*_operations(CONFIG), {**_WRITE, "id": "thing.copy"}, {**_WRITE, "id": "note.write"}],
    "callers": [{**ALICE, "may": ["thing.write", "thing.touch", "thing.copy", "note.write"]}],
}


#: The Pending one comes last: who takes the request for the same waits there.
_KEYS: Final = ("k2", "k3", "k1")


def _each(proc: str, prefix: str, keys: tuple[str, ...], **other: Any) -> tuple[Op, ...]:
    """One request under each of these keys."""
    return tuple(ask(proc, f"{prefix}{key}", key, **other) for key in keys)


def _otherwise(keys: tuple[str, ...]) -> tuple[Op, ...]:
    """Every coordinate of the fingerprint in turn, under each of these keys, by processes that are there already."""
    return (
        *_each("w2", "operation-", keys, operation="thing.copy"),
        *_each("w5", "source-", keys, operation="note.write"),
        *_each("w4", "input-", keys, n=2),
        start("b1", _with(TWO, connection="conn-b")),
        *_each("b1", "connection-", keys, connection="conn-b"),
        start("b2", _with(TWO, revision="r2")),
        *_each("b2", "revision-", keys, revision="r2"),
        start("b3", _with(TWO, connection_revision="2")),
        *_each("b3", "connection-revision-", keys),
        start("b4", {**TWO, "config_revision": "c2"}),
        *_each("b4", "config-revision-", keys),
        start("w3", TWO),
    )


#: One key is Pending, one Replayable and one Quarantined.
_OTHER_REQUEST = quiet(
    "other-request",
    (
        start("w2"),
        start("w4"),
        start("w5"),
        start("w1"),
        ask("w1", "q2", "k2"),
        script("apply-then-drop"),
        ask("w1", "q3", "k3"),
        script("hold"),
        ask("w1", "q1", "k1"),
        *_otherwise(_KEYS),
        release("w1"),
        *_each("w3", "same-", _KEYS),
    ),
    TWO,
)

#: What was aborted or refused did nothing, and its key is as taken as that of a success.
_OTHER_WITHOUT_EFFECT = quiet(
    "other-request-without-effect",
    (
        start("w0"),
        crash_after("w0", "mutation_attempt", None, "Prepared"),
        ask("w0", "q1", "k1"),
        *(start(proc) for proc in ("w2", "w4", "w5", "w1")),
        recover("w1"),
        script("definite-refusal"),
        ask("w1", "q2", "k2"),
        *_otherwise(("k1", "k2")),
        *_each("w3", "same-", ("k1", "k2")),
    ),
    TWO,
)

_BOB: Final = {**ALICE, "caller": "bob"}
_FEDERATED: Final = {**ALICE, "origin": {"kind": "federated", "authority": "gw-1"}}
#: Everybody who differs from alice in one part of the namespace; the receiver differs by its configuration.
_WHO: Final[tuple[Mapping[str, Any], ...]] = (
    _BOB,
    {**ALICE, "tenant": "t1"},
    {**ALICE, "realm": "default"},
    {**ALICE, "executor": "x1"},
    _FEDERATED,
    {**ALICE, "origin": {"kind": "federated", "authority": "gw-2"}},
)
_MAY: Final = ["thing.write", "thing.touch"]
NEIGHBOURS: Final = {
    **CONFIG,
    "callers": [
        {"caller": w["caller"], **{k: w[k] for k in ("tenant", "realm", "executor")}, "may": _MAY}
        for w in (ALICE, *_WHO[:4])
    ]
    + [{**ALICE, "may": _MAY, "origin": origin} for origin in ("gw-1", "gw-2")],
    "origins": [{"authority": o, "route": "things", "route_revision": "1"} for o in ("gw-1", "gw-2")],
}


def _neighbours(prefix: str, key: str) -> tuple[Op, ...]:
    return tuple(ask("w2", f"{prefix}{n}", key, context=who) for n, who in enumerate(_WHO))


_NAMESPACES = quiet(
    "namespaces",
    (
        start("w1"),
        start("w2"),
        ask("w1", "q1", "k1"),
        *_neighbours("a", "k1"),
        *_neighbours("b", "k1"),
        script("hold"),
        ask("w1", "q2", "k2"),
        *_neighbours("c", "k2"),
        start("b1", {**NEIGHBOURS, "instance": "host-b"}),
        ask("b1", "d1", "k1"),
        ask("b1", "d2", "k2"),
        start("w3", NEIGHBOURS),
        release("w1"),
        ask("w3", "q3", "k1"),
    ),
    NEIGHBOURS,
)

_OTHER_ROUTE = quiet(
    "other-route",
    (
        start("w1"),
        ask("w1", "q1", "k1", context=_FEDERATED),
        start("b1", {**NEIGHBOURS, "origins": [{"authority": "gw-1", "route": "things", "route_revision": "2"}]}),
        ask("b1", "q2", "k1", context=_FEDERATED),
    ),
    NEIGHBOURS,
)

_SPELLING = quiet(
    "key-spelling",
    (start("w1"), ask("w1", "q1", "Key"), ask("w1", "q2", "key"), ask("w1", "q3", "Key"), ask("w1", "q4", "key")),
)

_RIVAL = quiet(
    "rival-request",
    (
        start("w2"),
        start("w1"),
        pause_before("w1", "mutation_attempt", None, "Prepared"),
        ask("w1", "q1", "k1"),
        ask("w2", "q2", "k1", n=2),
        Op("resume", {"proc": "w1"}),
    ),
)

#: A candidate that missed finds the winner when it would reserve, and that one is under way for a while yet.
_LOST_RACE = quiet(
    "lost-race",
    (
        start("w2"),
        start("w1"),
        pause_before("w1", "mutation_attempt", None, "Prepared"),
        ask("w1", "q1", "k1"),
        script("hold"),
        ask("w2", "q2", "k1"),
        Op("resume", {"proc": "w1"}),
        release("w2"),
        SETTLE,
    ),
)

_PENDING_AGES = quiet(
    "pending-ages",
    (
        script("hold"),
        start("w1"),
        ask("w1", "q1", "k1"),
        kill("w1"),
        time(RETENTION_MS + 60_000),
        start("g1"),
        housekeep("g1"),
        start("w2"),
        ask("w2", "q2", "k1", n=2),
        ask("w2", "q3", "k1"),
        time(DEADLINE_MS + 1_000),
    ),
)

_QUARANTINE_LASTS = quiet(
    "quarantine-lasts",
    (
        script("apply-then-drop"),
        start("w1"),
        ask("w1", "q1", "k1"),
        time(RETENTION_MS + 60_000),
        start("g1"),
        housekeep("g1"),
        kill("w1"),
        start("w2"),
        recover("w2"),
        ask("w2", "q2", "k1", n=2),
        ask("w2", "q3", "k1"),
        time(0, wall_jump_ms=_DAYS_MS, trusted=False),
        housekeep("g1"),
        ask("w2", "q4", "k1"),
    ),
)

_CLOCK_JUMP = quiet(
    "clock-jump",
    (
        start("w1"),
        ask("w1", "q1", "k1"),
        start("g2"),
        housekeep("g2"),
        time(0, wall_jump_ms=_DAYS_MS, trusted=False),
        # One housekeeper is new, one has known better times, and one has settled the key itself.
        start("g1"),
        housekeep("g1"),
        housekeep("g2"),
        housekeep("w1"),
        start("w2"),
        ask("w2", "q2", "k1"),
        kill("w1"),
        kill("w2"),
        start("w3"),
        ask("w3", "q3", "k1"),
        ask("w3", "q4", "k1", n=2),
        time(0, wall_jump_ms=-_DAYS_MS, trusted=True),
        ask("w3", "q5", "k1"),
    ),
)

#: Callers that ask while a settlement may be held back wait for it, so each has a process of its own.
_UNTRUSTED_SETTLEMENT = quiet(
    "untrusted-settlement",
    (
        *(start(p) for p in ("w1", "w2", "w3")),
        script("hold"),
        ask("w1", "q1", "k1"),
        time(0, wall_jump_ms=-_DAYS_MS, trusted=False),
        release("w1"),
        time(0, wall_jump_ms=_DAYS_MS, trusted=True),
        ask("w2", "q2", "k1", n=2),
        ask("w3", "q3", "k1"),
        *(kill(p) for p in ("w1", "w2", "w3")),
        start("r1"),
        recover("r1"),
        time(RETENTION_MS - NEARLY_MS),
        start("w4"),
        ask("w4", "q4", "k1", n=2),
        ask("w4", "q5", "k1"),
    ),
)

_REPLAY_BEFORE_EXPIRY = quiet(
    "replay-before-expiry",
    (
        start("w1"),
        ask("w1", "q1", "k1"),
        ask("w1", "q2", "k1"),
        time(RETENTION_MS - NEARLY_MS),
        ask("w1", "q3", "k1"),
        time(120_000),
        ask("w1", "q4", "k1"),
    ),
)

_SETTLED_LATE = quiet(
    "settled-late",
    (
        start("w1"),
        crash_after("w1", "mutation_attempt", None, "Prepared"),
        ask("w1", "q1", "k1"),
        time(_DAYS_MS),
        start("r1"),
        housekeep("r1"),
        recover("r1"),
        ask("r1", "q2", "k1"),
    ),
)

KEY_SCENARIOS: Final = (
    _OTHER_REQUEST,
    _OTHER_WITHOUT_EFFECT,
    _OTHER_ROUTE,
    _NAMESPACES,
    _SPELLING,
    _RIVAL,
    _LOST_RACE,
    _PENDING_AGES,
    _QUARANTINE_LASTS,
    _CLOCK_JUMP,
    _UNTRUSTED_SETTLEMENT,
    _REPLAY_BEFORE_EXPIRY,
    _SETTLED_LATE,
)
