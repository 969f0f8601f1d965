"""Conversations of the reference in real processes, as text for the documents (see `write_docs.py`).

Nothing here is typed by hand: each example is cut out of what the suite and a driver really said. Only what differs
from run to run is replaced: the state directory, the ports, and the numbers of messages, which begin at 1 in each.
"""

from __future__ import annotations

import json
import re
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from conformance.carriers.base import Carrier, Message, Session
from conformance.carriers.subprocess import ForkedCarrier
from conformance.carriers.tap import TappedCarrier
from conformance.drivers import identify
from conformance.families.mutation_host.contract import EffectContract
from conformance.families.mutation_host.scenarios import ALICE, CONFIG, DEADLINE_MS, FAMILY, cancel, housekeep, invoke
from conformance.history import Recorder
from conformance.remote.remote import Remote
from conformance.remote.request import RequestParser, answer
from conformance.search.execute import Execution
from conformance.search.process import EPOCH_MS
from conformance.search.program import SETTLE, Op, Program, call, kill, recover, release, script, start, time


@dataclass(slots=True)
class Tape:
    """What was said, in order: (direction, process, message)."""

    lines: list[tuple[str, str, Message]] = field(default_factory=list)
    directory: str = ""
    ports: dict[str, int] = field(default_factory=dict)

    def text(self, message: Message, numbers: dict[int, int]) -> str:
        """One message as the line that it was, with what differs between runs replaced."""
        if "id" in message:
            message = {**message, "id": numbers.setdefault(message["id"], len(numbers) + 1)}
        line = json.dumps(message, separators=(",", ":"))
        if self.directory:
            line = line.replace(self.directory, "/dev/shm/onceproof-1")
        return re.sub(r"http://127\.0\.0\.1:(\d+)", lambda m: f"http://127.0.0.1:{self._port(m[1])}", line)

    def _port(self, real: str) -> int:
        return self.ports.setdefault(real, 40001 + len(self.ports))

    def dialogue(self, keep: Callable[[str, Message], bool]) -> str:
        """The lines that are wanted, each with its direction."""
        numbers: dict[int, int] = {}
        return "\n".join(f"{way} {self.text(m, numbers)}" for way, proc, m in self.lines if keep(proc, m))


class TapedCarrier(TappedCarrier):
    """Carries what another carrier does, and keeps the conversation on a tape."""

    def __init__(self, carrier: Carrier) -> None:
        super().__init__(carrier, self._hear_one)
        self.tape = Tape()

    def open(self, remote: Remote) -> Session:
        """One schedule; its directory is no part of what is shown."""
        session = super().open(remote)
        self.tape.directory = str(session.state_dir)
        return session

    def _hear_one(self, way: str, proc: str, message: Message | None) -> None:
        if message is not None:
            self.tape.lines.append((way, proc, message))


def _play(carrier: Carrier, ops: tuple[Op, ...], *, record: bool = False) -> Tape:
    return play(carrier, Program("example", FAMILY, CONFIG, ops, {}), record=record)


def play(carrier: Carrier, program: Program, *, record: bool = False) -> Tape:
    """Run a program and keep what was said."""
    tapped = TapedCarrier(carrier)
    Execution(program, tapped, lambda _: EffectContract(), record=record).run()
    return tapped.tape


def of(tape: Tape, proc: str, *wanted: str) -> str:
    """What one process was asked under these verbs or commands, with its answers; events count as wanted by name."""
    ids: set[int] = set()

    def keep(who: str, message: Message) -> bool:
        if who != proc:
            return False
        if "event" in message:
            return message["event"] in wanted
        if "cmd" in message:
            name = message["args"].get("name", message["cmd"])
            if name in wanted:
                ids.add(message["id"])
        return message["id"] in ids

    return tape.dialogue(keep)


def examples() -> dict[str, str]:
    """Every example by name: lines with their direction, or HTTP as text."""
    carrier = ForkedCarrier("reference:process", [sys.executable, "-m", "reference_impl"])
    try:
        return {**_basic(carrier), **_durable(carrier), **_points(carrier), **_endings(carrier), **_effect(carrier)}
    finally:
        carrier.shutdown()


def _basic(carrier: Carrier) -> dict[str, str]:
    """What every driver meets."""
    tapped = TapedCarrier(carrier)
    identify(tapped)
    found = {"hello": of(tapped.tape, "hello", "hello")}
    plain = _play(carrier, (start("w1"), invoke("w1", "q1", "m1", "k1"), start("w2"), invoke("w2", "q2", "m1", "k1")))
    found["reset"] = of(plain, "w1", "reset")
    found["reset-existing"] = of(plain, "w2", "reset")
    found["invoke-applied"] = of(plain, "w1", "host.invoke")
    found["invoke-replay"] = of(plain, "w2", "host.invoke")
    lost = (script("apply-then-drop", "definite-refusal"), start("w1"), invoke("w1", "q1", "m1", "k1"))
    tape = _play(carrier, (*lost, start("w2"), invoke("w2", "q2", "m2"), start("w3"), invoke("w3", "q3", "m3", "k1")))
    found["invoke-unknown"] = of(tape, "w1", "host.invoke")
    found["invoke-refused"] = of(tape, "w2", "host.invoke")
    found["invoke-conflict"] = of(tape, "w3", "host.invoke")
    mallory = {**ALICE, "caller": "mallory"}
    denied = invoke("w1", "q1", "m1", "k1").args["args"]["request"]
    tape = _play(carrier, (start("w1"), call("w1", "host.invoke", context=mallory, request=denied)))
    found["invoke-denied"] = of(tape, "w1", "host.invoke")
    tape = _play(
        carrier,
        (
            script("hold"),
            start("w1"),
            invoke("w1", "q1", "m1", "k1"),
            kill("w1"),
            start("r1"),
            recover("r1"),
            cancel("r1", "q1"),
            housekeep("r1"),
            call("r1", "host.describe"),
            call("r1", "host.sing"),
        ),
    )
    found["no-answer"] = of(tape, "w1", "host.invoke")
    for name, verb in (("recover", "recover"), ("cancel", "host.cancel"), ("housekeep", "host.housekeep")):
        found[name] = of(tape, "r1", verb)
    found["describe"] = of(tape, "r1", "host.describe")
    found["unsupported"] = of(tape, "r1", "host.sing")
    return found


def _durable(carrier: Carrier) -> dict[str, str]:
    """What rung L1 adds, and a command that waits."""
    held = (script("hold"), start("w1"), invoke("w1", "q1", "m1", "k1"))
    tape = _play(carrier, (*held, start("w2"), invoke("w2", "q2", "m1", "k1"), release("w1"), SETTLE))
    mine = [m for _, proc, m in tape.lines if proc == "w2"]
    asked = next(m["id"] for m in mine if m.get("cmd") == "command")
    nudged = next(m["id"] for m in mine if m.get("cmd") == "set_time")
    found = {"waiting": tape.dialogue(lambda proc, m: proc == "w2" and m["id"] in (asked, nudged))}
    tape = _play(carrier, (start("w1"), invoke("w1", "q1", "m1", "k1"), time(DEADLINE_MS)))
    found["set-time"] = of(tape, "w1", "set_time")
    last = [m["id"] for _, proc, m in tape.lines if proc == "observer" and m.get("cmd") == "snapshot"][-1]
    found["snapshot"] = tape.dialogue(lambda proc, m: proc == "observer" and m["id"] == last)
    return found


def _points(carrier: Carrier) -> dict[str, str]:
    """What rung L2 adds."""
    tape = _play(carrier, (start("w1"), invoke("w1", "q1", "m1", "k1")), record=True)
    found = {"points": of(tape, "w1", "host.invoke", "point")}
    gate = {"proc": "w1", "point": "invoke.open_gate:committed", "nth": 1, "action": "pause"}
    ops = (start("w1"), Op("arm", gate), invoke("w1", "q1", "m1", "k1"), Op("resume", {"proc": "w1"}))
    tape = _play(carrier, ops)
    found["pause"] = of(tape, "w1", "arm", "host.invoke", "fired", "paused", "resume")
    lost = {"proc": "w1", "point": "invoke.open_gate:commit", "nth": 1, "action": "lose-ack", "world": "committed"}
    tape = _play(carrier, (start("w1"), Op("arm", lost), invoke("w1", "q1", "m1", "k1")))
    found["lose-ack"] = of(tape, "w1", "arm", "host.invoke", "fired")
    return found


def _endings(carrier: Carrier) -> dict[str, str]:
    """What callers hear of attempts that did not simply succeed."""
    first, again = invoke("w1", "q1", "m1", "k1"), (start("w2"), invoke("w2", "q2", "m1", "k1"))
    prepared = {"proc": "w1", "point": "invoke.prepare:committed", "nth": 1}
    pause, crash = (Op("arm", {**prepared, "action": action}) for action in ("pause", "crash"))
    resume, lost = Op("resume", {"proc": "w1"}), {"point": "invoke.open_gate:commit", "nth": 1, "action": "lose-ack"}
    found: dict[str, str] = {}

    def play(name: str, proc: str, *ops: Op) -> Tape:
        tape = _play(carrier, ops)
        found[name] = tape.dialogue(_answer_of(tape, proc))
        return tape

    play("refused-keyed", "w1", script("definite-refusal"), start("w1"), first)
    tape = play("cancelled", "w1", start("w1"), pause, first, start("c1"), cancel("c1", "q1"), resume, *again)
    found["cancelled-replay"] = tape.dialogue(_answer_of(tape, "w2"))
    play("recovered", "w2", start("w1"), crash, first, start("r1"), recover("r1"), *again)
    late = time(DEADLINE_MS + 1_000)
    play("deadline-ahead", "w1", start("w1"), pause, first, late, resume)
    play("deadline-behind", "w1", script("hold"), start("w1"), first, late)
    play("gate-lost", "w1", start("w1"), Op("arm", {"proc": "w1", **lost, "world": "rolled_back"}), first)
    held = (script("hold"), start("w1"), first)
    play("wait-over", "w2", *held, kill("w1"), *again, late)
    tape = play("late-success", "w1", *held, start("r1"), recover("r1"), release("w1"), *again)
    found["late-success-replay"] = tape.dialogue(_answer_of(tape, "w2"))
    return found


def _answer_of(tape: Tape, proc: str) -> Callable[[str, Message], bool]:
    """Keeps the one answer of a process to its command."""
    asked = next(m["id"] for _, who, m in tape.lines if who == proc and m.get("cmd") == "command")
    return lambda who, m: who == proc and "outcome" in m and m["id"] == asked


def _effect(carrier: Carrier) -> dict[str, str]:
    """The one request of an attempt as its bytes, and the two answers that are definite."""
    sent = _overheard(carrier)
    path, body = sent.split(b" ")[1].decode(), sent.partition(b"\r\n\r\n")[2]
    contract = EffectContract()
    parsed = contract.parse("POST", path, body, {})
    return {
        "effect-request": _http(sent),
        "effect-success": _http(answer(contract.success(parsed, 1, None))),
        "effect-refusal": _http(answer(contract.refusal(parsed, "not_allowed"))),
    }


def _overheard(carrier: Carrier) -> bytes:
    """The bytes of one effect request, taken by a listener that only listens."""
    session = carrier.open(Remote(Recorder(), EffectContract(), lambda _: None, lambda _: None))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        try:
            link = session.start("w1")
            clock = {"wall_ms": EPOCH_MS, "mono_ms": 0, "trusted": True}
            where = {"state_dir": str(session.state_dir), "remote": f"http://127.0.0.1:{listener.getsockname()[1]}"}
            args = {"run": "r1", "state": "fresh", "record": False, **where, "clock": clock, "limits": {}}
            asked = invoke("w1", "q1", "m1", "k1").args
            link.send({"v": 1, "id": 1, "cmd": "reset", "actor": "w1", "args": {**args, "config": CONFIG}})
            command = {"name": asked["cmd"], "args": asked["args"]}
            link.send({"v": 1, "id": 2, "cmd": "command", "actor": "w1", "args": command})
            conn, _ = listener.accept()
            with conn:
                parser, taken = RequestParser(), b""
                while not parser.complete:
                    data = conn.recv(65536)
                    parser.feed(data)
                    taken += data
        finally:
            session.close()
    return taken


def _http(data: bytes) -> str:
    text = data.decode().replace("\r\n", "\n")
    return re.sub(r"(?m)^(Host: 127\.0\.0\.1):\d+$", r"\1:40001", text)
