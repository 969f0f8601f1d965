"""For each legal variant one program in which it behaves otherwise than the reference.

A fault is armed by the name of the reference's own step: the programs are about the reference and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.families.mutation_host.config import ALICE, given, host, operation
from conformance.families.mutation_host.config import ask as request_for
from conformance.families.mutation_host.scenarios import (
    CONFIG,
    DEADLINE_MS,
    FAMILY,
    RETENTION_MS,
    TAIL,
    cancel,
    housekeep,
    invoke,
)
from conformance.families.mutation_host.scenarios_approvals import SPENDING, pay
from conformance.families.mutation_host.scenarios_keys import ask
from conformance.search.program import FREE, RESTART, SETTLE, Op, Program, recover, release, script, start, time

START = start("w1")
INVOKE = invoke("w1", "q1", "m1", "k1")
CALL = (START, INVOKE)
DUPLICATE = (start("w2"), invoke("w2", "q2", "m1", "k1"))
CANCEL = (start("c1"), cancel("c1", "q1"))
RECOVER = (start("r1"), recover("r1"))
LATE = time(DEADLINE_MS + 1_000)
AGED = time(RETENTION_MS + 60_000)
EPILOGUE = (FREE, start("e1"), recover("e1"), SETTLE, invoke("e1", "q8", "m1", "k1"), *TAIL)


def arm(proc: str, point: str, action: str, **members: str) -> Op:
    return Op("arm", {"proc": proc, "point": point, "nth": 1, "action": action, **members})


def resume(proc: str) -> Op:
    return Op("resume", {"proc": proc})


_PAUSED_GATE = (START, arm("w1", "invoke.open_gate:committed", "pause"), INVOKE)
_UNTRUSTED = (START, time(0, trusted=False), INVOKE, time(0, trusted=True))
_FENCED = (script("hold"), *CALL, *RECOVER, release("w1"))
_REUSED = (*CALL, AGED, *DUPLICATE)

#: variant -> ops, before the epilogue that all share.
SHOWS: dict[str, tuple[Op, ...]] = {
    "leaves-dispatching": (script("hold"), *CALL, LATE),
    "late-gate-sends": (*_PAUSED_GATE, LATE, resume("w1")),
    "rereads-own-gate": (*_PAUSED_GATE, *RECOVER, resume("w1")),
    "lost-gate-to-recovery": (START, arm("w1", "invoke.open_gate:commit", "lose-ack", world="rolled_back"), INVOKE),
    "unsure-until-aborted": (
        START,
        arm("w1", "invoke.open_gate:commit", "fail"),
        arm("w1", "invoke.abort:begin", "fail"),
        INVOKE,
    ),
    "retries-terminal-write": (START, arm("w1", "invoke.settle:commit", "fail"), INVOKE),
    "drops-late-evidence": _FENCED,
    "survivor-to-recovery": (START, arm("w1", "invoke.prepare:commit", "lose-ack", world="committed"), INVOKE),
    "reserves-first": CALL,
    "names-itself-as-original": CALL,
    "drops-timeout-cause": (script("hold"), *CALL, LATE),
    "refuses-by-a-base-code": (script("definite-refusal"), *CALL),
    "recovery-says-why": (START, arm("w1", "invoke.open_gate:begin", "pause"), INVOKE, RESTART),
    "unsure-ahead-of-the-anchor": (START, arm("w1", "invoke.lookup:read", "pause"), INVOKE, LATE, resume("w1")),
    "remembers-cancel": (START, arm("w1", "invoke.prepare:begin", "pause"), INVOKE, *CANCEL, resume("w1")),
    "cancel-reads-back": (
        START,
        arm("w1", "invoke.prepare:committed", "pause"),
        INVOKE,
        start("c1"),
        arm("c1", "cancel.abort:commit", "lose-ack", world="committed"),
        cancel("c1", "q1"),
        resume("w1"),
    ),
    "not-attempted-when-free": (START, arm("w1", "invoke.lookup:read", "fail"), INVOKE),
    "anchor-failure-unknown": (START, arm("w1", "invoke.prepare:commit", "fail"), INVOKE),
    "anchor-not-attempted": (START, arm("w1", "invoke.prepare:tx-read", "fail"), INVOKE),
    "index-decides": (START, arm("w1", "invoke.prepare:tx-read", "fail"), INVOKE),
    "conflicts-with-an-observation": (*CALL, start("w2"), ask("w2", "q2", "k1", n=2)),
    "waits-are-no-replays": (script("hold"), *CALL, *DUPLICATE, release("w1")),
    "deletes-expired": _REUSED,
    "replays-until-retired": _REUSED,
    "retires-at-lookup": (
        *CALL,
        AGED,
        start("w2"),
        arm("w2", "invoke.prepare:begin", "pause"),
        invoke("w2", "q2", "m1", "k1"),
        resume("w2"),
    ),
    "retires-in-one-statement": (*CALL, AGED, start("g1"), arm("g1", "housekeep.scan:read", "fail"), housekeep("g1")),
    "quarantine-lags": (script("malformed"), *CALL),
    "times-left-open": _UNTRUSTED,
    "settlement-held-back": _UNTRUSTED,
    "spares-live-owner": _FENCED,
    "recovers-at-start": _FENCED,
}


_LOST_SPEND = arm("w1", "invoke.spend:commit", "lose-ack", world="rolled_back")
_SHAPE = {"members": {"n": "integer", "resource": "text"}, "required": []}
_SHAPED = operation("thing.deep", input=_SHAPE, scope="resource")
_SCOPED = host(_SHAPED, callers=[{**ALICE, "may": ["thing.deep"], "resources": ["r-1"]}])
_OUTSIDE = request_for("w1", "q1", "thing.deep", given("m1", resource="r-2"), "k1")
#: Those that are shown under another configuration: with it, in the same order.
CONFIGURED: dict[str, tuple[Mapping[str, Any], tuple[Op, ...]]] = {
    "missing-claim-refused": (SPENDING, (START, request_for("w1", "q1", "thing.claim", given("m1"), "k1"))),
    "needless-approval-refused": (
        SPENDING,
        (START, request_for("w1", "q1", "thing.write", given("m1"), "k1", approval="ap1")),
    ),
    "out-of-scope-is-invalid": (_SCOPED, (START, _OUTSIDE)),
    "unsure-spend-is-spent": (SPENDING, (START, _LOST_SPEND, pay("w1", "q1", "k1"), pay("w1", "q2", "k2"))),
    # With a pause behind a look that this one does not take, the two find each other otherwise.
    "index-decides-spend": (SPENDING, (START, arm("w1", "invoke.spend:tx-read", "fail"), pay("w1", "q1", "k1"))),
}
SHOWS |= {variant: ops for variant, (_, ops) in CONFIGURED.items()}


def showing(variant: str) -> Program:
    """The program of a variant, with the epilogue."""
    config = CONFIGURED[variant][0] if variant in CONFIGURED else CONFIG
    return Program(f"variants/{variant}", FAMILY, config, (*SHOWS[variant], *EPILOGUE), {})
