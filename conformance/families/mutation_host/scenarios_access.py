"""Scenarios about access to a key and to the original under it: taken away before a call, in it, while it waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.families.mutation_host.scenarios import ALICE, CONFIG, FAMILY
from conformance.families.mutation_host.scenarios_keys import ask, quiet
from conformance.search.program import SETTLE, Op, recover, release, script, start
from conformance.search.scenario import Scenario

_FEDERATED: Final = {**ALICE, "origin": {"kind": "federated", "authority": "gw-1"}}
_MAY: Final = ["thing.write", "thing.touch"]
_ALICE: Final = {**ALICE, "may": _MAY, "connections": ["conn-a"], "resources": ["s1"]}
_OPERATIONS: Final[list[Mapping[str, Any]]] = [{**op, "scope": "site"} for op in CONFIG["operations"]]  # type: ignore
#: Everything by which alice is admitted is written out, so that each of it can be taken away.
ADMITTED: Final = {
    **CONFIG,
    "operations": _OPERATIONS,
    "callers": [_ALICE, {**_ALICE, "origin": "gw-1"}],
    "origins": [{"authority": "gw-1", "route": "things", "route_revision": "1"}],
}


def _callers(**members: Any) -> dict[str, Any]:
    """Everything as it was, but for members of alice's entries."""
    return {**ADMITTED, "callers": [{**_ALICE, **members}, {**_ALICE, **members, "origin": "gw-1"}]}


#: What is taken away -> the configuration without it.
DENIALS: Final[Mapping[str, Mapping[str, Any]]] = {
    "caller": {**ADMITTED, "callers": [{**_ALICE, "caller": "bob"}]},
    "disabled": {**ADMITTED, "operations": [{**op, "enabled": False} for op in _OPERATIONS]},
    "withdrawn": {**ADMITTED, "operations": [{**op, "id": f"{op['id']}.other"} for op in _OPERATIONS]},
    "connection": _callers(connections=[]),
    "resource": _callers(resources=["s2"]),
    "result": _callers(sees=[]),
}
_UNTRUSTED: Final = {**ADMITTED, "origins": []}
#: What may be taken away while a call is under way, in a few kinds.
_MEANWHILE: Final = ("caller", "disabled", "result")


def _again(proc: str) -> tuple[Op, ...]:
    """The callers ask again once access is back."""
    return (start(proc, ADMITTED), recover(proc), SETTLE, ask(proc, "q98", "k1", site="s1"))


_DENIED = quiet(
    "denied-replay",
    (
        start("w1"),
        ask("w1", "q1", "k1", site="s1"),
        ask("w1", "q2", "k1", context=_FEDERATED, site="s1"),
        *(
            op
            for name, denied in DENIALS.items()
            for op in (start(name, denied), ask(name, f"a-{name}", "k1", site="s1"))
        ),
        start("origin", _UNTRUSTED),
        ask("origin", "a-origin", "k1", context=_FEDERATED, site="s1"),
    ),
    ADMITTED,
    _again("e1"),
)

_REVOKED_REPLAY = Scenario(
    "mutation/revoked-replay",
    FAMILY,
    ADMITTED,
    (start("w2"), ask("w2", "q1", "k1", site="s1"), start("w1"), ask("w1", "q2", "k1", site="s1")),
    retry=_again("e1"),
    seconds={name: (start("c1", DENIALS[name]),) for name in _MEANWHILE},
    remote_faults=False,
    strikes=frozenset(),
)


def _round(number: int, name: str) -> tuple[Op, ...]:
    """One original that is under way, one call that waits for it, and access that goes meanwhile."""
    key, waiter = f"k{number}", f"w{number + 1}"
    return (
        script("hold"),
        ask("w1", f"q{number}", key, site="s1"),
        start(waiter),
        ask(waiter, f"a-{name}", key, site="s1"),
        start(f"c{number}", DENIALS[name]),
        release("w1"),
        SETTLE,
        start(f"d{number}", ADMITTED),
    )


_REVOKED_WAIT = quiet(
    "revoked-wait",
    (start("w1"), *(op for number, name in enumerate(_MEANWHILE, 1) for op in _round(number, name))),
    ADMITTED,
    _again("e1"),
)

_UNSEEN = quiet(
    "unseen-keys",
    (
        start("w1"),
        ask("w1", "q1", "k1", site="s1"),
        script("apply-then-drop"),
        ask("w1", "q2", "k2", site="s1"),
        script("hold"),
        ask("w1", "q3", "k3", site="s1"),
        start("b1", DENIALS["result"]),
        *(
            op
            for key in ("k1", "k2")
            for op in (ask("b1", f"same-{key}", key, site="s1"), ask("b1", f"other-{key}", key, n=2, site="s1"))
        ),
        ask("b1", "fresh", "k4", site="s1"),
        ask("b1", "stale", "k5", revision="r0", site="s1"),
        # Who lets the caller in waits here, so that nothing comes behind it.
        ask("b1", "other-k3", "k3", n=2, site="s1"),
        ask("b1", "same-k3", "k3", site="s1"),
        release("w1"),
    ),
    ADMITTED,
    _again("e1"),
)

#: A caller whose access is gone altogether, under keys in every state and under a fresh one.
_REVOKED_KEYS = quiet(
    "revoked-keys",
    (
        start("w1"),
        ask("w1", "q1", "k1", site="s1"),
        script("apply-then-drop"),
        ask("w1", "q2", "k2", site="s1"),
        script("hold"),
        ask("w1", "q3", "k3", site="s1"),
        start("b1", DENIALS["caller"]),
        *(ask("b1", f"denied-{key}", key, site="s1") for key in ("k1", "k2", "k4", "k3")),
        release("w1"),
    ),
    ADMITTED,
    _again("e1"),
)

ACCESS: Final = (_DENIED, _REVOKED_REPLAY, _REVOKED_WAIT, _UNSEEN, _REVOKED_KEYS)
