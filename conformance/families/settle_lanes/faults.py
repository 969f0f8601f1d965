"""How this family realises faults without a remote: the Flow fails, a lease ends, or another worker acts meanwhile.

An execution is open in a process from its claim to its outcome, across a kill as well: its lease goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from conformance.search.disarm import Instead
from conformance.search.program import Op

Ops = tuple[Op, ...]


def _open(ops: Ops, index: int, *, alive: bool = False) -> set[str]:
    """The processes whose execution is open before an op, as far as the script tells; only of living ones if asked."""
    found: set[str] = set()
    # Where a fault is armed on a process, nobody knows from the script whether its outcome was recorded.
    struck = {op.proc for op in ops if op.op == "arm"}
    for op in ops[:index]:
        if alive and op.op == "kill":
            found.discard(op.proc)
        elif alive and op.op == "restart":
            found.clear()
        if op.op == "call" and op.args["cmd"] == "lane.claim":
            found.add(op.proc)
        elif op.op == "call" and op.args["cmd"] == "lane.finish" and (alive or op.proc not in struck):
            found.discard(op.proc)
    return found


def _succeeds(ops: Ops, index: int) -> Op:
    """A Flow that fails succeeds instead."""
    op = ops[index]
    if op.op != "call" or op.args["cmd"] != "lane.finish" or op.args["args"]["outcome"] not in ("retryable", "fatal"):
        return op
    return Op("call", {**op.args, "args": {"outcome": "success"}})


def _no_lease_ends(ops: Ops, index: int) -> Op | None:
    """No time passes while an execution is open."""
    return None if ops[index].op == "time" and _open(ops, index) else ops[index]


def _no_other_worker(ops: Ops, index: int) -> Op | None:
    """Nobody claims, reports or recovers while the execution of another living process is open."""
    kept: list[Op] = []
    for op in ops[: index + 1]:
        acts = op.op == "recover" or (op.op == "call" and op.args["cmd"] in ("lane.claim", "lane.finish"))
        if acts and _open((*kept, op), len(kept), alive=True) - {op.proc}:
            if len(kept) == index:
                return None
            kept.append(Op("snapshot", {}))  # holds the place of what is left out
        else:
            kept.append(op)
    return ops[index]


INSTEAD: Final[Mapping[str, Instead]] = {
    "remote-5xx": _succeeds,
    "lease-expiry": _no_lease_ends,
    "concurrent-worker": _no_other_worker,
}
