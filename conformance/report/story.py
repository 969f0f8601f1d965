"""A failure as three lines and a story: what was allowed, what happened, and only what changed, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.history import Event
from conformance.trace import Trace
from statemachines.spec import Spec

_WIDTH = 34


@dataclass(frozen=True, slots=True)
class Line:
    """One step: the column it belongs to (a process, ``ledger`` or ``remote``) and its text; ``seq`` orders it."""

    seq: int
    column: str
    text: str


def story(trace: Trace, spec: Spec, file: str) -> str:
    """The failure as plain text, ending in a line break."""
    requirement = spec.requirements.get(trace.requirement)
    statement = requirement.statement.rstrip(".") if requirement else "unknown requirement"
    where = f"{requirement.source} {requirement.where}" if requirement else ""
    happened = trace.violation.happened
    lines = steps(trace.history.events)
    step = next((n for n, line in enumerate(lines, 1) if line.seq >= trace.violation.seq), len(lines))
    out = [
        f"FAIL  {trace.requirement}  {statement}    {where}",
        f"  allowed   {trace.violation.allowed}",
        f"  happened  {happened}, at step {step}",
        *table(lines),
        f"  seen {trace.failed} of {trace.runs}, shrunk from {trace.shrunk_from} steps to {len(trace.program.ops)}"
        f"       onceproof replay {file}",
    ]
    return "\n".join(line.rstrip() for line in out) + "\n"


def table(lines: list[Line]) -> list[str]:
    """The steps side by side: a column for each process that did something, then ledger and remote."""
    used = {line.column for line in lines}
    processes = [c for c in dict.fromkeys(line.column for line in lines) if c not in ("ledger", "remote")]
    columns = processes + [c for c in ("ledger", "remote") if c in used]
    width = {c: min(_WIDTH, max([len(c), *(len(x.text) for x in lines if x.column == c)])) for c in columns}
    rows = ["  step  " + "  ".join(c.ljust(width[c]) for c in columns)]
    for number, line in enumerate(lines, 1):
        cells = [(line.text if c == line.column else "").ljust(width[c]) for c in columns]
        rows.append(f"  {number:>4}  " + "  ".join(cells))
    return rows


def steps(events: tuple[Event, ...]) -> list[Line]:
    """What a reader needs of a history: commands, faults in capitals, row changes, the wire, answers."""
    seen: dict[tuple[str, str], str] = {}
    lines: list[Line] = []
    for event in events:
        if event.cls == "rows":
            lines.extend(_rows(event, seen))
        else:
            text = _TEXTS.get((event.cls, event.kind), _nothing)(event.data)
            if text is not None:
                lines.append(Line(event.seq, _column(event), text))
    return lines


def _column(event: Event) -> str:
    if event.cls == "wire" or event.kind in ("meaning", "release", "script"):
        return "remote"
    return event.proc or "suite"


def _rows(event: Event, seen: dict[tuple[str, str], str]) -> Iterator[Line]:
    for kind, rows in event.data["kinds"].items():
        if kind in ("status_log", "diagnostics"):
            continue
        current: dict[tuple[str, str], str] = {}
        for row in rows:
            identifier = str(next(iter(row.values())))
            current[kind, identifier] = str(row.get("state", "present"))
        for key, state in current.items():
            if seen.get(key) != state:
                seen[key] = state
                yield Line(event.seq, "ledger", f"{kind.removesuffix('s')} …{key[1][-4:]} {state}")
        for key in [k for k in seen if k[0] == kind and k not in current]:
            del seen[key]
            yield Line(event.seq, "ledger", f"{kind.removesuffix('s')} …{key[1][-4:]} gone")


def _nothing(_: Mapping[str, Any]) -> None:
    """Most events are not worth a line."""


def _command(data: Mapping[str, Any]) -> str:
    asked: dict[str, str] = {}
    _find(data["args"], _ASKED, asked)
    return " ".join([str(data["cmd"]).rpartition(".")[2], *(asked[name] for name in _ASKED if name in asked)])


def _answer(data: Mapping[str, Any]) -> str:
    if data["outcome"] != "done":
        return f"← {data['outcome'].upper()}"
    found: dict[str, str] = {}
    _find(data.get("result", {}), _TELLING, found)
    # What an answer classifies says more than its status; of the two that are left, the status comes first.
    named = [found[name] for name in _TELLING if name in found]
    return "← " + " ".join(named[:2])


#: Members that tell most of a command and of an answer, in order, at whatever depth a protocol puts them.
_ASKED = ("act", "kind", "object", "id", "request_id", "idempotency_key", "remote_id")
_TELLING = ("classification", "code", "status", "reason")


def _find(value: Any, names: tuple[str, ...], found: dict[str, str]) -> None:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name in names and isinstance(inner, str):
                found.setdefault(name, inner)
            _find(inner, names, found)
    elif isinstance(value, list | tuple):
        for inner in value:
            _find(inner, names, found)


def _fault(data: Mapping[str, Any]) -> str | None:
    action = str(data["action"])
    step = str(data["point"])
    if action == "lose-ack":
        return f"{step}: ACKNOWLEDGEMENT LOST ({data.get('world', 'committed').replace('_', ' ')})"
    if action == "fail":
        return f"{step}: FAILS"
    return None if action == "crash" else f"{step}: {action}"


def _time(data: Mapping[str, Any]) -> str:
    trust = "" if data["trusted"] else ", NOT TRUSTED"
    return f"time is {data['mono_ms'] / 1000:.0f} s{trust}"


_TEXTS: dict[tuple[str, str], Any] = {
    ("suite", "command"): _command,
    ("suite", "fault"): _fault,
    ("suite", "kill"): lambda data: f"KILLED ({data['why']})",
    ("suite", "time"): _time,
    ("suite", "script"): lambda data: (
        "will " + ", ".join(b["kind"] for b in data["behaviours"]) if data["behaviours"] else None
    ),
    ("suite", "release"): lambda data: f"lets go: {data['behaviour']['kind']}",
    ("answer", "answer"): _answer,
    ("wire", "connection"): lambda data: f"connection {data['conn']}",
    ("wire", "request"): lambda data: (
        f"{data['method']} {data['path']} {data['marker'] or '(no marker)'}" + ("" if data["read"] else " UNREAD")
    ),
    ("wire", "response"): lambda data: (
        f"{data['how'].upper()}" if data["how"] != "answered" else f"answers {data['status']}"
    ),
    ("wire", "abandoned"): lambda _: "CLIENT GONE",
    ("note", "resumed"): lambda _: "goes on",
    ("note", "waiting"): lambda data: f"waits ({data['on']})",
}
