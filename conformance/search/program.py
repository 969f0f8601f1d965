"""A program: one schedule as plain data, the same for scenarios, sweeps, Hypothesis, traces and replay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from conformance.remote.script import Behaviour

#: op -> (members it must have, members it may have). A crash is a pause or hang at the point and a kill by the suite.
#: An ``outage`` counts the store calls up to the armed one: at every later one the store fails, for as long as the
#: process lives.
OPS: Final[dict[str, tuple[frozenset[str], frozenset[str]]]] = {
    "start": (frozenset({"proc"}), frozenset({"config"})),
    "call": (frozenset({"proc", "cmd", "args"}), frozenset()),
    "recover": (frozenset({"proc"}), frozenset()),
    "arm": (frozenset({"proc", "point", "nth", "action"}), frozenset({"world", "changes", "fault", "outage"})),
    "arm-effect": (frozenset({"proc", "effect", "call", "action"}), frozenset({"world"})),
    "resume": (frozenset({"proc"}), frozenset()),
    "release": (frozenset({"proc", "behaviour"}), frozenset()),
    "kill": (frozenset({"proc"}), frozenset()),
    "time": (frozenset({"ms"}), frozenset({"wall_jump_ms", "trusted"})),
    "script": (frozenset({"behaviours"}), frozenset()),
    "settle": (frozenset(), frozenset()),
    "free": (frozenset(), frozenset()),
    "restart": (frozenset(), frozenset()),
    "snapshot": (frozenset(), frozenset()),
}
#: Integers that every language can hold exactly (DESIGN section 5).
MAX_INT: Final = 2**53
_TYPES: Final[dict[str, type]] = {
    **dict.fromkeys(("proc", "cmd", "point", "action", "world", "call"), str),
    **dict.fromkeys(("args", "behaviour"), dict),
    **dict.fromkeys(("changes", "effect", "behaviours"), list),
    **dict.fromkeys(("nth", "ms", "wall_jump_ms", "outage"), int),
    "trusted": bool,
}
_TYPE_NAMES: Final[dict[type, str]] = {
    str: "text",
    dict: "object",
    list: "list",
    int: f"integer up to {MAX_INT}",
    bool: "boolean",
}


@dataclass(frozen=True, slots=True)
class Op:
    """One thing that the suite does; ``args`` are the members that its kind of op takes (see :data:`OPS`)."""

    op: str
    args: Mapping[str, Any]

    @property
    def proc(self) -> str:
        """The process concerned, or the empty string."""
        return str(self.args.get("proc", ""))

    def to_json(self) -> dict[str, Any]:
        """The op as a flat JSON object."""
        return {"op": self.op, **self.args}

    @staticmethod
    def from_json(obj: Mapping[str, Any]) -> Op:
        """The inverse of :meth:`to_json`; raises ValueError with a sentence for an op that does not exist."""
        kind = obj.get("op")
        if not isinstance(kind, str) or kind not in OPS:
            raise ValueError(f"op {kind!r} is none of {', '.join(sorted(OPS))}")
        must, may = OPS[kind]
        given = set(obj) - {"op"}
        if missing := must - given:
            raise ValueError(f"op {kind!r} lacks {', '.join(sorted(missing))}")
        if extra := given - must - may:
            raise ValueError(f"op {kind!r} has no member {', '.join(sorted(extra))}")
        for name in given:
            wanted = _TYPES.get(name)
            if wanted is not None and (type(obj[name]) is not wanted or (wanted is int and abs(obj[name]) > MAX_INT)):
                raise ValueError(f"op {kind!r}: {name} is no {_TYPE_NAMES[wanted]}")
        for behaviour in [obj["behaviour"]] if kind == "release" else obj.get("behaviours", ()):
            Behaviour.from_json(behaviour)
        return Op(kind, {k: v for k, v in obj.items() if k != "op"})


@dataclass(frozen=True, slots=True)
class Program:
    """A schedule with its stable id, the family it belongs to, and the configuration that ``reset`` carries."""

    id: str
    family: str
    config: Mapping[str, Any]
    ops: tuple[Op, ...]
    limits: Mapping[str, int]

    @property
    def configs(self) -> tuple[Mapping[str, Any], ...]:
        """Every configuration document that the schedule uses: its own first, then those of later starts."""
        later = (op.args["config"] for op in self.ops if op.op == "start" and "config" in op.args)
        return (self.config, *later)

    def with_ops(self, suffix: str, ops: Iterable[Op]) -> Program:
        """A variant of this program under an id that extends its own."""
        return replace(self, id=f"{self.id}{suffix}", ops=tuple(ops))

    def to_json(self) -> dict[str, Any]:
        """The program as a JSON object."""
        return {
            "id": self.id,
            "family": self.family,
            "config": dict(self.config),
            "limits": dict(self.limits),
            "ops": [op.to_json() for op in self.ops],
        }

    @staticmethod
    def from_json(obj: Mapping[str, Any]) -> Program:
        """The inverse of :meth:`to_json`; raises KeyError or ValueError for what does not fit."""
        for name, wanted in (("id", str), ("family", str), ("config", dict), ("limits", dict), ("ops", list)):
            if type(obj[name]) is not wanted:
                raise ValueError(f"{name} of the program is no {_TYPE_NAMES[wanted]}")
        if not all(isinstance(op, dict) for op in obj["ops"]):
            raise ValueError("ops of the program are no objects")
        ops = tuple(Op.from_json(op) for op in obj["ops"])
        return Program(obj["id"], obj["family"], obj["config"], ops, obj["limits"])


def start(proc: str, config: Mapping[str, Any] | None = None) -> Op:
    """Start a driver process on the state directory; ``config`` replaces the whole document from now on."""
    return Op("start", {"proc": proc} if config is None else {"proc": proc, "config": config})


def call(proc: str, cmd: str, **args: Any) -> Op:
    """Send one command and run the process until it is done or blocked."""
    return Op("call", {"proc": proc, "cmd": cmd, "args": args})


def recover(proc: str) -> Op:
    """Send ``recover``."""
    return Op("recover", {"proc": proc})


def script(*behaviours: Mapping[str, Any] | str) -> Op:
    """What the remote does with the next connections; afterwards, and with no behaviours at all, it succeeds."""
    return Op("script", {"behaviours": [{"kind": b} if isinstance(b, str) else dict(b) for b in behaviours]})


def release(proc: str, kind: str = "success", **members: Any) -> Op:
    """Let the request of a process that the remote holds go on."""
    return Op("release", {"proc": proc, "behaviour": {"kind": kind, **members}})


def time(ms: int, **members: Any) -> Op:
    """Move elapsed and wall time on by ``ms``; ``wall_jump_ms`` moves wall time alone, ``trusted`` sets the flag."""
    return Op("time", {"ms": ms, **members})


def kill(proc: str) -> Op:
    """SIGKILL."""
    return Op("kill", {"proc": proc})


def crash_after(proc: str, *effect: str | None) -> Op:
    """Crash right after the commit that has this row effect (entity, from, to), before its acknowledgement."""
    return Op("arm-effect", {"proc": proc, "effect": list(effect), "call": "committed", "action": "crash"})


def crash_within(proc: str, *effect: str | None) -> Op:
    """Crash inside the transaction that has this row effect, at its commit: the effect does not come about."""
    return Op("arm-effect", {"proc": proc, "effect": list(effect), "call": "commit", "action": "crash"})


def pause_after(proc: str, *effect: str | None) -> Op:
    """Pause right after the commit that has this row effect, before its acknowledgement."""
    return Op("arm-effect", {"proc": proc, "effect": list(effect), "call": "committed", "action": "pause"})


def pause_before(proc: str, *effect: str | None) -> Op:
    """Pause before the transaction that has this row effect begins."""
    return Op("arm-effect", {"proc": proc, "effect": list(effect), "call": "begin", "action": "pause"})


SETTLE: Final = Op("settle", {})
FREE: Final = Op("free", {})
RESTART: Final = Op("restart", {})
SNAPSHOT: Final = Op("snapshot", {})
