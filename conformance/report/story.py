"""A failure as three lines and a story: what was allowed, what happened, and only what changed, step by step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from conformance.history import Event
from conformance.trace import Trace
from statemachines.plain import plain

_WIDTH = 52
_LINE = 118
#: Up to how many letters the identity of a row is shown whole.
_NAME = 20


@dataclass(slots=True)
class Step:
    """One numbered step: its text in the column of a process, ``remote`` or ``suite``, and what the ledger showed.

    ``seqs`` are the events that it tells of: a connection with its request, and the rows that were seen at that moment.
    """

    column: str
    text: str
    seqs: list[int]
    ledger: list[str] = field(default_factory=list)


class Judged(Protocol):
    """What a story says of the requirement that was violated."""

    @property
    def statement(self) -> str:
        """What it demands."""
        ...

    @property
    def source(self) -> str:
        """The document that demands it."""
        ...

    @property
    def where(self) -> str:
        """The place in the document."""
        ...


def story(trace: Trace, requirements: Mapping[str, Judged], file: str) -> str:
    """The failure as plain text, ending in a line break."""
    requirement = requirements.get(trace.requirement)
    statement = plain(requirement.statement.rstrip(".")) if requirement else "unknown requirement"
    where = plain(f"{requirement.source} {requirement.where}") if requirement else ""
    told = steps(trace.history.events)
    head = f"FAIL  {plain(trace.requirement)}  {statement}"
    out = [
        *([f"{head}    {where}"] if len(head) + len(where) < _LINE else [head, f"      {where}"]),
        f"  allowed   {plain(trace.violation.allowed)}",
        f"  happened  {plain(trace.violation.happened)}, at step {step_of(told, trace.violation.seq)}",
        *table(told),
        *(["", *(f"  {plain(line)}" for line in trace.picture.rstrip().splitlines()), ""] if trace.picture else []),
        f"  seen {trace.failed} of {trace.runs},"
        f" shrunk from {trace.shrunk_from} steps of the script to {len(trace.program.ops)}"
        f"       onceproof replay {plain(file)}",
    ]
    return "\n".join(line.rstrip() for line in out) + "\n"


def step_of(told: list[Step], seq: int) -> int:
    """The number of the step that tells of an event: the one that names it, else the first that goes beyond it."""
    named = (number for number, step in enumerate(told, 1) if seq in step.seqs)
    later = (number for number, step in enumerate(told, 1) if max(step.seqs) >= seq)
    return next(named, next(later, len(told)))


def table(told: list[Step]) -> list[str]:
    """The steps side by side: a column for each process that did something, then ledger and remote."""
    processes = [c for c in dict.fromkeys(step.column for step in told) if c not in ("", "remote")]
    columns = [*processes]
    columns += ["ledger"] if any(step.ledger for step in told) else []
    columns += ["remote"] if any(step.column == "remote" for step in told) else []
    texts: dict[str, list[str]] = {c: [c] for c in columns}
    for step in told:
        texts.get(step.column, []).append(step.text)
        texts.get("ledger", []).extend(step.ledger)
    # What is wider than a column runs on to the right, where nothing else stands in its line.
    width = {c: min(_WIDTH, max(map(len, texts[c]))) for c in columns}
    rows = ["  step  " + "  ".join(c.ljust(width[c]) for c in columns)]
    for number, step in enumerate(told, 1):
        for index, ledger in enumerate(step.ledger or [""]):
            cells = {"ledger": ledger} if index else {step.column: step.text, "ledger": ledger}
            line = "  ".join(cells.get(c, "").ljust(width[c]) for c in columns)
            rows.append(f"  {number:>4}  {line}" if not index else f"  {'':>4}  {line}")
    return rows


def steps(events: tuple[Event, ...]) -> list[Step]:
    """What a reader needs of a history: commands, faults in capitals, row changes, the wire, answers."""
    requested = {e.data["conn"] for e in events if (e.cls, e.kind) == ("wire", "request")}
    connected: dict[int, int] = {}
    seen: dict[tuple[str, str], str] = {}
    told: list[Step] = []
    begun: Mapping[str, Any] | None = None
    for event in events:
        if event.cls == "rows":
            _look(event, seen, told)
            continue
        if (event.cls, event.kind) == ("suite", "config"):
            begun = begun or event.data.get("clock")
        if event.kind == "connection" and event.data["conn"] in requested:
            connected[event.data["conn"]] = event.seq
            continue
        text = _TEXTS.get((event.cls, event.kind), _nothing)(event.data)
        if text is None:
            continue
        if (event.cls, event.kind) == ("suite", "time") and begun:
            text += _jumped(event.data, begun)
        earlier = [connected[event.data["conn"]]] if event.kind == "request" else []
        told.append(Step(plain(_column(event)), plain(text), [*earlier, event.seq]))
    return told


def _column(event: Event) -> str:
    if event.cls == "wire" or event.kind in ("meaning", "release", "script"):
        return "remote"
    return event.proc or "suite"


def _look(event: Event, seen: dict[tuple[str, str], str], told: list[Step]) -> None:
    """Put what changed in the rows beside the step at which the suite looked.

    Nothing ran between that step and the look, so the rows were so at the step: when a request had arrived, when a call
    was answered, when a process was paused or killed. Only a look of its own, at the end, makes a step of its own.
    """
    changes = list(_changes(event.data["kinds"], seen))
    if not changes:
        return
    if event.data["why"] in ("end", "asked") or not told or told[-1].ledger:
        told.append(Step("", "", [event.seq], changes))
    else:
        told[-1].ledger.extend(changes)
        told[-1].seqs.append(event.seq)


def _changes(kinds: Mapping[str, Any], seen: dict[tuple[str, str], str]) -> list[str]:
    found = []
    for kind, rows in kinds.items():
        if kind in ("status_log", "diagnostics"):
            continue
        current = {(kind, str(next(iter(row.values())))): str(row.get("state", "present")) for row in rows}
        found += [_row(key, state) for key, state in current.items() if seen.get(key) != state]
        gone = [key for key in seen if key[0] == kind and key not in current]
        found += [_row(key, "gone") for key in gone]
        seen.update(current)
        for key in gone:
            del seen[key]
    return found


def _row(key: tuple[str, str], state: str) -> str:
    return plain(f"{key[0].removesuffix('s')} {_name(key[1])} {state}")


def _name(identity: str) -> str:
    """A row's identity in few letters: the end of a long one, the parts of one that is made of parts."""
    if identity.startswith("["):
        with suppress(ValueError):
            identity = " ".join(str(part) for part in json.loads(identity))
    return identity if len(identity) <= _NAME else identity[-6:]


def _nothing(_: Mapping[str, Any]) -> None:
    """Most events are not worth a line."""


def _command(data: Mapping[str, Any]) -> str:
    asked: dict[str, str] = {}
    _find(data["args"], _ASKED, asked)
    return " ".join(
        [
            str(data["cmd"]).rpartition(".")[2],
            *(f"{_LABELS.get(name, '')}{asked[name]}" for name in _ASKED if name in asked),
        ]
    )


def _answer(data: Mapping[str, Any]) -> str:
    if data["outcome"] != "done":
        return f"← {str(data['outcome']).upper()}"
    found: dict[str, str] = {}
    _find(data.get("result", {}), _TELLING, found)
    # What an answer classifies says more than its status; of the two that are left, the status comes first.
    named = [found[name] for name in _TELLING if name in found]
    return "← " + " ".join(named[:2])


#: Members that tell most of a command and of an answer, in order, at whatever depth a protocol puts them.
_ASKED = (
    *("act", "kind", "object", "id", "request_id", "idempotency_key", "remote_id"),
    *("delivery", "path", "outcome", "event"),
)
_LABELS = {"idempotency_key": "key "}
_TELLING = ("classification", "code", "status", "reason", "event")


def _find(value: Any, names: tuple[str, ...], found: dict[str, str]) -> None:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name in names and isinstance(inner, str | int) and not isinstance(inner, bool):
                found.setdefault(name, str(inner))
            _find(inner, names, found)
    elif isinstance(value, list | tuple):
        for inner in value:
            _find(inner, names, found)


def _fault(data: Mapping[str, Any]) -> str | None:
    action = str(data["action"])
    step, _, call = str(data["point"]).rpartition(":")
    if action == "lose-ack":
        return f"{step}: ACKNOWLEDGEMENT LOST, {data.get('world', 'committed').replace('_', ' ')}"
    if action == "fail":
        return f"{step}: {call.upper()} FAILS"
    return None if action == "crash" else f"{step}: {action.upper()}D at {call}".replace("HANGD", "HANGS")


def _time(data: Mapping[str, Any]) -> str:
    trust = "" if data["trusted"] else ", NOT TRUSTED"
    return f"time is {data['mono_ms'] / 1000:.0f} s{trust}"


def _jumped(data: Mapping[str, Any], begun: Mapping[str, Any]) -> str:
    """What the wall clock says where it went another way than elapsed time."""
    wall, mono = (data[name] - begun[name] for name in ("wall_ms", "mono_ms"))
    return "" if wall == mono else f", by the wall clock {wall / 1000:.0f} s"


def _behaviour(data: Mapping[str, Any]) -> str:
    return f"{data['kind']} {data['status']}" if "status" in data else str(data["kind"])


def _script(data: Mapping[str, Any]) -> str | None:
    return "will " + ", ".join(_behaviour(b) for b in data["behaviours"]) if data["behaviours"] else None


def _request(data: Mapping[str, Any]) -> str:
    fate = "" if data["read"] else " UNREAD"
    number = f"  ({data['conn']})" if data["conn"] > 1 else ""
    return f"{data['method']} {data['path']} {data['marker'] or '(no marker)'}{fate}{number}"


_TEXTS: dict[tuple[str, str], Any] = {
    ("suite", "command"): _command,
    ("suite", "fault"): _fault,
    ("suite", "missed"): lambda data: f"{data['point']}: {data['action']} DID NOT HAPPEN",
    ("suite", "kill"): lambda data: f"KILLED ({data['why']})",
    ("suite", "time"): _time,
    ("suite", "script"): _script,
    ("suite", "release"): lambda data: f"lets go: {_behaviour(data['behaviour'])}",
    ("answer", "answer"): _answer,
    ("wire", "connection"): lambda data: f"connection {data['conn']}",
    ("wire", "request"): _request,
    ("wire", "response"): lambda data: (
        f"{data['how'].upper()}" if data["how"] != "answered" else f"answers {data['status']}"
    ),
    ("wire", "abandoned"): lambda _: "CLIENT GONE",
    ("note", "resumed"): lambda _: "goes on",
    ("note", "waiting"): lambda data: f"waits ({data['on']})",
}
