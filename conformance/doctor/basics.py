"""What a driver of every rung has to get right: answers, the remote, kills, isolation, and its own end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from conformance.carriers.base import DriverProblem
from conformance.doctor.bench import Bench, Seen
from conformance.search.program import FREE, SETTLE, Op, call, kill, recover, release, script
from conformance.search.scenario import Scenario

#: A word of a vocabulary, in contrast to an id, a date or a text.
_WORD: Final = re.compile(r"[A-Za-z_]{1,40}")
#: Steps that need nothing but rung L0.
_PLAIN: Final = frozenset({"start", "call", "recover", "script", "release", "kill", "settle", "free", "restart"})
#: A command that no family has.
NO_COMMAND: Final = "doctor.no_such_command"


@dataclass(slots=True)
class Notes:
    """Sentences about what has to be mended, and remarks that are no fault by themselves; each once."""

    mend: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def bad(self, sentence: str) -> None:
        """Something has to be mended."""
        if sentence not in self.mend:
            self.mend.append(sentence)

    def remark(self, sentence: str) -> None:
        """Something that is worth knowing."""
        if sentence not in self.remarks:
            self.remarks.append(sentence)


def whole(bench: Bench) -> tuple[Op, ...]:
    """The script of the first scenario with the callers' retry."""
    return (*bench.scenario.ops, *bench.scenario.retry)


def effect(bench: Bench) -> Notes:
    """One effect and its retry, in processes that say good-bye at the end."""
    notes = Notes()
    seen = bench.play(whole(bench), part=True)
    bench.first = seen
    look(seen, notes)
    if notes.mend and any(e.data.get("why") == "deadline" for e in seen.of("kill")):
        # Every other script would wait as long again, only to say the same.
        raise DriverProblem(" ".join(notes.mend))
    if bench.remote and not seen.of("connection"):
        notes.bad(
            "nothing reached the remote: does the implementation send to the address that `reset` of this very process"
            " gave as `remote`?"
        )
    for sentence in seen.departures:
        notes.bad(sentence)
    if seen.empty:
        notes.remark("state_dir is still empty after an effect: everything durable belongs there, and nowhere else")
    return notes


def commands(bench: Bench) -> Notes:
    """Every command that the family's scenarios use, in as few scripts as meet them all."""
    notes = Notes()
    for scenario in covering(bench.family.scenarios):
        ops = [op for op in (*scenario.ops, *scenario.retry) if op.op in _PLAIN]
        look(bench.play(ops, scenario), notes)
    return notes


def covering(scenarios: Sequence[Scenario]) -> Iterator[Scenario]:
    """Scenarios that use, in their own steps, commands which none before them used."""
    met: set[str] = set()
    for scenario in scenarios:
        used = {str(op.args["cmd"]) for op in scenario.ops if op.op == "call"}
        if used - met:
            met |= used
            yield scenario


def look(seen: Seen, notes: Notes) -> None:
    """What is wrong with any script, whatever it was for."""
    for proc, request, answer in seen.undone:
        verb = request["cmd"]
        name = request["args"].get("name") if verb == "command" else verb
        if answer["outcome"] == "failed":
            notes.bad(f"process {proc!r} could not do {name!r}: {answer['detail']}")
        elif verb == "command":
            notes.remark(
                f"the command {name!r} is not offered ({answer['reason']}): what needs it cannot be tested, and"
                " counts as untestable"
            )
        else:
            notes.bad(f"{verb!r} was answered unsupported ({answer['reason']}), but the declared rung includes it")
    _wires(seen, notes)
    for event in seen.of("kill"):
        if event.data.get("why") == "deadline":
            notes.bad(
                f"process {event.proc!r} gave no answer in time and was killed: a command that waits for another one"
                " says `waiting`, and one that asks the remote has to send"
            )


def _wires(seen: Seen, notes: Notes) -> None:
    busy: set[str] = set()
    for event in seen.history.events:
        if event.kind == "command":
            busy.add(event.proc)
        elif event.kind == "answer":
            busy.discard(event.proc)
        elif event.kind == "connection" and event.proc not in busy:
            notes.bad(
                f"a connection came in at the address of process {event.proc!r}, which had no command under way: use"
                " the `remote` of the latest `reset` of the process that sends, and never store it"
            )
        elif event.kind == "request" and event.data["problem"]:
            notes.bad(f"a request cannot be attributed to an effect: {event.data['problem']}")


def unknown_command(bench: Bench) -> Notes:
    """A command that does not exist is `unsupported`."""
    notes = Notes()
    first = next(op for op in bench.scenario.ops if op.op == "start")
    seen = bench.play((first, call(first.proc, NO_COMMAND)))
    answers = seen.of("answer")
    outcome = answers[0].data["outcome"] if answers else "nothing"
    if outcome != "unsupported":
        notes.bad(
            f"a command that does not exist was answered {outcome}: answer `unsupported`, so that later versions may"
            " add commands"
        )
    return notes


def later_members(bench: Bench) -> Notes:
    """Members that a later version adds to requests are ignored."""
    notes = Notes()
    seen = bench.play(bench.scenario.ops, keep=True, later=True)
    if seen.undone or (bench.remote and not seen.of("connection")):
        notes.bad("a request with a member that this version does not have was not done: ignore members unknown to you")
    return notes


def isolation(bench: Bench) -> Notes:
    """Two runs on two state directories do not see each other."""
    notes = Notes()
    if difference := _difference(_first(bench), bench.play(whole(bench))):
        notes.bad(
            f"a second run on a fresh state directory went differently ({difference}): it sees something of the first;"
            " keep all state in state_dir"
        )
    return notes


def again(bench: Bench) -> Notes:
    """A second `reset` of the same processes replaces everything; from then on they may stand."""
    notes = Notes()
    bench.stands = True
    if difference := _difference(_first(bench), bench.play(whole(bench))):
        bench.stands = False
        notes.bad(
            f"after a second `reset` the same process went differently ({difference}): `reset` replaces everything that"
            " a process knows"
        )
    return notes


def _first(bench: Bench) -> Seen:
    assert bench.first is not None, "the effect is looked at before anything else"
    return bench.first


def survival(bench: Bench) -> Notes:
    """What was done and told is known to a new process after a kill of all others."""
    notes = Notes()
    victim = bench.scenario.victim
    retry = bench.scenario.retry
    same = [_as(op, victim) for op in retry]
    stayed = bench.play((*bench.scenario.ops, *same))
    killed = bench.play((*bench.scenario.ops, kill(victim), *retry), new=True)
    if difference := _difference(stayed, killed, rows=False):
        notes.bad(
            f"after a kill the same requests went differently than in the process that lived on ({difference}): state"
            " is kept in memory; a new process on the same state_dir has to find all of it"
        )
    look(killed, notes)
    return notes


def _as(op: Op, proc: str) -> Op:
    return replace(op, args={**op.args, "proc": proc}) if "proc" in op.args else op


def killed_while_held(bench: Bench) -> Notes:
    """A kill while the remote holds the request, then recovery and the retry in another process."""
    notes = Notes()
    ops = (script("hold"), *bench.scenario.ops, kill(bench.scenario.victim), *bench.scenario.retry)
    look(bench.play(ops), notes)
    return notes


def second_actor(bench: Bench) -> Notes:
    """A second actor acts while the remote holds the request of the first, whose answer comes afterwards."""
    notes = Notes()
    victim = bench.scenario.victim
    for ops in bench.scenario.seconds.values():
        other = [op for op in ops if op.op in _PLAIN]
        if not other:
            continue
        steps = (script("hold"), *bench.scenario.ops, *other, release(victim), SETTLE, FREE)
        look(bench.play(steps), notes)
    return notes


def recovery(bench: Bench) -> Notes:
    """Recovery on a store in which nothing was done yet."""
    notes = Notes()
    first = next(op for op in bench.scenario.ops if op.op == "start")
    look(bench.play((first, recover(first.proc))), notes)
    return notes


def _difference(first: Seen, second: Seen, *, rows: bool = True) -> str:
    """In what two runs of one script differ, in words; nothing when they do not."""
    for name, one, two in zip(("requests", "answers", "rows"), _signature(first), _signature(second), strict=True):
        if one != two and (rows or name != "rows"):
            if len(one) != len(two):
                return f"{len(one)} {name} the first time, {len(two)} the second"
            at = next(i for i, pair in enumerate(zip(one, two, strict=True)) if pair[0] != pair[1])
            return f"{name}, {at + 1} of {len(one)}: {_change(one[at], two[at])}"
    return ""


def _change(one: Any, two: Any, path: str = "") -> str:
    """The first place where two values differ, and how."""
    inside: list[tuple[str, Any, Any]] = []
    if isinstance(one, dict) and isinstance(two, dict):
        inside = [(f"{path}.{name}".lstrip("."), one.get(name), two.get(name)) for name in sorted({*one, *two})]
    elif isinstance(one, list | tuple) and isinstance(two, list | tuple) and len(one) == len(two):
        inside = [(path, a, b) for a, b in zip(one, two, strict=True)]
    for where, a, b in inside:
        if a != b:
            return _change(a, b, where)
    shown = f"{json.dumps(one)[:60]} became {json.dumps(two)[:60]}"
    return f"{path} {shown}" if path else shown


def _signature(seen: Seen) -> tuple[list[Any], list[Any], list[Any]]:
    """What has to be equal in two equal runs: requests, answers without ids and times, states of rows."""
    requests = [(e.data["marker"], e.data["operation"]) for e in seen.of("request")]
    answers = [(e.data["cmd"], e.data["outcome"], _shape(e.data.get("result"))) for e in seen.of("answer")]
    states = [
        (kind, sorted(str(row.get("state")) for row in kinds))
        for kind, kinds in sorted((seen.rows or {}).items())
        if kinds and all("state" in row for row in kinds)
    ]
    return requests, answers, states


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shape(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_shape(member) for member in value]
    if isinstance(value, str):
        return value if _WORD.fullmatch(value) else "…"
    return value if value is None or isinstance(value, bool) else "#"
