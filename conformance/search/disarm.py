"""Taking faults away: the same program without what realises the named faults of ``spec/tables/faults.yaml``.

This proves premises (DESIGN 2.3): with the faults that a cell needs taken away, the cell must not occur. What an op
realises is read off the op itself, off what it overlaps with, and off the family's ``roles`` for its commands.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.search.program import FREE, Op, Program
from statemachines.spec import load

#: fault name -> the commands of a family that realise it (``cancel``), or that make the second party of it
#: (``concurrent-caller``, ``concurrent-worker``).
Roles = Mapping[str, frozenset[str]]
#: What stands in the place of an op of a program once a fault is taken away: the op itself, another one, or nothing.
#: A family brings these for faults that its commands realise otherwise than by a remote and by stopped processes.
Instead = Callable[[tuple[Op, ...], int], Op | None]

_HOLDS: Final = frozenset({"hold", "hold-at-accept", "late"})
_SUCCESS: Final[Mapping[str, Any]] = {"kind": "success"}
_INSIDE: Final = frozenset({"begin", "read", "tx-read", "write", "commit"})


@dataclass(frozen=True, slots=True)
class _Window:
    """From the op that makes a process stop to the op that lets it go on; ``op`` is the place of the former."""

    op: int
    proc: str
    began: int
    end: int
    unread: bool


@dataclass(frozen=True, slots=True)
class _View:
    """One program with its windows, and the roles of its family."""

    ops: tuple[Op, ...]
    windows: tuple[_Window, ...]
    roles: Roles

    def others(self, window: _Window) -> Iterator[str]:
        """The commands that other processes send while the one of the window stands still."""
        for op in self.ops[window.began + 1 : window.end]:
            if op.op in ("call", "recover") and op.proc != window.proc:
                yield _command(op)

    def stopped(self, index: int) -> list[_Window]:
        """The windows in which an op stands, the one that ends it included."""
        return [w for w in self.windows if w.began < index <= w.end]


#: Whether the op at this place realises the fault.
_Rule = Callable[[_View, int, Op], bool]
#: Whether a behaviour of the remote realises the fault.
_RemoteRule = Callable[[Mapping[str, Any]], bool]


def disarm(
    program: Program, faults: Collection[str], roles: Roles, own: Mapping[str, Instead] | None = None
) -> Program:
    """The program without the named faults; unchanged when it has none of them.

    A process that is no longer killed runs to its end instead. ``own`` are the family's own ways of realising a fault,
    besides the general ones. Raises ValueError for a fault that no op realises.
    """
    for fault in sorted(set(faults) & set(own or ())):
        program = _without(program, fault, (own or {})[fault])
    faults = [f for f in faults if f not in (own or ()) or f in _RULES or f in _REMOTE]
    view = _View(program.ops, tuple(_windows(program.ops)), roles)
    rules = [_rule(fault, roles) for fault in sorted(faults) if fault not in _REMOTE]
    remote = [_REMOTE[fault] for fault in faults if fault in _REMOTE]
    ops: list[Op] = []
    for index, op in enumerate(program.ops):
        struck = any(rule(view, index, op) for rule in rules)
        if op.op in ("script", "release"):
            # What a rule strikes of a script is its holding; the rest of it stays.
            ops.append(_behaving(op, [*remote, _holding] if struck else remote))
        elif not struck:
            ops.append(op)
        elif op.op in ("kill", "restart"):
            ops.append(FREE)
        elif op.op == "start":
            # A process that starts with another configuration starts with the present one instead.
            ops.append(Op("start", {"proc": op.proc}))
    if tuple(ops) == program.ops:
        return program
    return program.with_ops("-" + "-".join(sorted(faults)), ops)


def _without(program: Program, fault: str, instead: Instead) -> Program:
    kept = [instead(program.ops, index) for index in range(len(program.ops))]
    ops = tuple(op for op in kept if op is not None)
    return program if ops == program.ops else program.with_ops(f"-{fault}", ops)


def _rule(fault: str, roles: Roles) -> _Rule:
    if fault in _RULES:
        return _RULES[fault]
    if fault in roles:
        return lambda view, _, op: op.op in ("call", "recover") and _command(op) in view.roles[fault]
    known = ", ".join(sorted({*_RULES, *_REMOTE, *roles}))
    raise ValueError(f"fault {fault!r} is realised by no op of a program of this family; known are {known}")


def _holding(behaviour: Mapping[str, Any]) -> bool:
    return behaviour["kind"] in _HOLDS


def _behaving(op: Op, rules: Sequence[_RemoteRule]) -> Op:
    """A ``script`` or ``release`` with a success in place of each behaviour that a rule strikes out."""
    if op.op == "release":
        struck = any(rule(op.args["behaviour"]) for rule in rules)
        return Op("release", {**op.args, "behaviour": dict(_SUCCESS)}) if struck else op
    behaviours = [dict(_SUCCESS) if any(rule(b) for rule in rules) else b for b in op.args["behaviours"]]
    return op if behaviours == op.args["behaviours"] else Op("script", {"behaviours": behaviours})


def _windows(ops: tuple[Op, ...]) -> Iterator[_Window]:
    for index, op in enumerate(ops):
        pauses = op.op == "arm" and op.args["action"] in ("pause", "hang")
        holds = {b["kind"] for b in op.args["behaviours"]} & _HOLDS if op.op == "script" else set()
        if not pauses and not holds:
            continue
        # A pause names its process; a request that the remote holds is taken for the next command's.
        calls = (i for i in range(index + 1, len(ops)) if ops[i].op in ("call", "recover"))
        began = next((i for i in calls if not pauses or ops[i].proc == op.proc), None)
        if began is not None:
            proc = ops[began].proc
            by = "resume" if pauses else "release"
            goes_on = (i for i in range(began + 1, len(ops)) if _lets_go(ops[i], proc, by))
            yield _Window(index, proc, began, next(goes_on, len(ops)), "hold-at-accept" in holds)


def _lets_go(op: Op, proc: str, by: str) -> bool:
    return op.op in ("free", "restart") or (op.op in (by, "kill") and op.proc == proc)


def _command(op: Op) -> str:
    return "recover" if op.op == "recover" else str(op.args["cmd"])


def _arms(action: str) -> _Rule:
    return lambda _view, _index, op: op.op == "arm" and op.args["action"] == action


def _store_down(_view: _View, _index: int, op: Op) -> bool:
    return op.op == "arm" and (op.args["action"] == "fail" or "outage" in op.args)


def _crashes(*calls: str) -> _Rule:
    wanted = frozenset(calls)
    return lambda _view, _index, op: (
        op.op == "arm" and op.args["action"] == "crash" and str(op.args["point"]).rpartition(":")[2] in wanted
    )


def _kills(view: _View, index: int, *, unread: bool) -> bool:
    """Whether a process is killed here while the remote holds its request, read or not."""
    op = view.ops[index]
    if op.op not in ("kill", "restart"):
        return False
    return any(w.unread == unread and view.ops[w.op].op == "script" for w in view.stopped(index))


def _before_send(view: _View, index: int, op: Op) -> bool:
    return _crashes("committed", "remote")(view, index, op) or _kills(view, index, unread=True)


def _after_send(view: _View, index: int, op: Op) -> bool:
    return _crashes("answered")(view, index, op) or _kills(view, index, unread=False)


def _any_crash(_view: _View, _index: int, op: Op) -> bool:
    return op.op in ("kill", "restart") or (op.op == "arm" and op.args["action"] == "crash")


def _terminal_write(_view: _View, _index: int, op: Op) -> bool:
    if op.op != "arm" or op.args["action"] != "fail":
        return False
    lifecycles = load().lifecycles
    changes = op.args.get("changes", ())
    # It settles a row that was there: one that begins in its last state (a spend) is no outcome of anything.
    return any(
        source is not None and entity in lifecycles and dest in lifecycles[entity].terminal
        for entity, source, dest in changes
    )


def _overtime(view: _View, index: int, op: Op) -> bool:
    return op.op == "time" and op.args["ms"] > 0 and bool(view.stopped(index))


def _jump(_view: _View, _index: int, op: Op) -> bool:
    return op.op == "time" and (bool(op.args.get("wall_jump_ms")) or op.args.get("trusted") is False)


def _drift(_view: _View, _index: int, op: Op) -> bool:
    return op.op == "start" and "config" in op.args


def _overlap(role: str | None) -> _Rule:
    """What makes a process stop while another sends a command of this role, or any command."""

    def rule(view: _View, index: int, _op: Op) -> bool:
        mine = (w for w in view.windows if w.op == index)
        return any(role is None or c in view.roles.get(role, ()) for w in mine for c in view.others(w))

    return rule


_RULES: Final[Mapping[str, _Rule]] = {
    "crash-before-commit": _crashes(*_INSIDE),
    "crash-after-commit": _crashes("committed"),
    "crash-before-send": _before_send,
    "crash-after-send": _after_send,
    "restart": _any_crash,
    "process-restart": _any_crash,
    "deadline": _overtime,
    "lease-expiry": _overtime,
    "clock-jump": _jump,
    "metadata-drift": _drift,
    "access-revoked": _drift,
    "credential-rotation": _drift,
    "storage-unavailable": _store_down,
    "terminal-write-failure": _terminal_write,
    "lost-ack": _arms("lose-ack"),
    "cas-zero-rows": _overlap(None),
    "stale-writer": _overlap(None),
    "concurrent-caller": _overlap("concurrent-caller"),
    "concurrent-worker": _overlap("concurrent-worker"),
}


def _status(wanted: Callable[[int], bool]) -> _RemoteRule:
    return lambda b: b["kind"] == "status" and wanted(int(b["status"]))


def _kinds(*kinds: str) -> _RemoteRule:
    return lambda b: b["kind"] in kinds


#: Behaviours of the remote. A connection that closes unread is lost for its caller in either way of speaking.
_REMOTE: Final[Mapping[str, _RemoteRule]] = {
    "response-lost": _kinds("apply-then-drop", "drop-before-read"),
    "remote-unreachable": _kinds("refuse-connection", "drop-before-read"),
    "remote-partial": _kinds("partial", "part-done"),
    "remote-malformed": lambda b: b["kind"] == "malformed" or _status(lambda s: s < 400)(b),
    "remote-5xx": _status(lambda s: s >= 400 and s not in (404, 409)),
    "remote-404": _status(lambda s: s == 404),
    "remote-conflict": lambda b: b.get("identity") is not None or _status(lambda s: s == 409)(b),
}
