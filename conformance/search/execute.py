"""Runs one program against a carrier and returns its history. It judges nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.carriers.base import Carrier, DeadlinePassed, DriverProblem, Message, Session, SuiteProblem
from conformance.history import History, Recorder
from conformance.remote.remote import Conn, ContractOf, Remote
from conformance.remote.script import Behaviour
from conformance.search.process import (
    PAUSABLE,
    ArmedFault,
    Point,
    PointLog,
    Process,
    RowsReader,
    VirtualTime,
    must_be_done,
)
from conformance.search.program import Op, Program

_OBSERVER = "observer"
_MAX_ROUNDS = 20
#: The harness deadline of every request, in real ms.
_DEADLINE_MS = 10_000


class Crashed(DriverProblem):
    """A process ended by a crash of the program while it was asked something else."""


class Execution:
    """One run of one program.

    ``record`` also collects the fault points of every process. ``lenient`` is for random walks: a fault that was armed
    at a venture and did not fire is no missed fault.
    """

    def __init__(
        self,
        program: Program,
        carrier: Carrier,
        contract: ContractOf,
        *,
        record: bool = False,
        lenient: bool = False,
    ) -> None:
        self._program = program
        self._carrier = carrier
        self._recorder = Recorder()
        self._note = self._recorder.add
        self._config = program.config
        self._remote = Remote(self._recorder, contract(program.configs), self._on_connect, self._on_request)
        self._timed = carrier.rung != "L0"
        self._record = record and carrier.rung == "L2"
        self._recording = record
        self._lenient = lenient
        self._session: Session | None = None
        self._processes: dict[str, Process] = {}
        self._rows = RowsReader(self._ask, supported=carrier.rung != "L0")
        self._starts = 0
        self._next_id = 0
        self._time = VirtualTime()
        self._armed: list[ArmedFault] = []
        self._outages: set[str] = set()
        self._op_index = -1
        self._done = 0
        self._log = PointLog(program.family)
        #: The durable rows as they were seen last.
        self.latest_rows: Mapping[str, Any] | None = None

    def run(self) -> History:
        """Execute all ops. Raises DriverProblem when the driver could not be used, SuiteProblem on our own fault."""
        self.begin()
        try:
            for op in self._program.ops:
                self.do(op)
            return self.end()
        finally:
            self.close()

    def begin(self) -> None:
        """Open the session; :meth:`close` must follow."""
        self._session = self._carrier.open(self._remote)
        program = self._program
        self._note(
            "suite", "config", config=dict(program.config), limits=dict(program.limits), clock=self._time.to_json()
        )

    def do(self, op: Op) -> None:
        """Execute one op."""
        self._op_index += 1
        self._do(op)

    def end(self) -> History:
        """Look at the rows once more, note the faults that did not strike, and return the history."""
        self._snapshot("end")
        if self._rows.lacking:
            self._note("suite", "lacking", what="snapshot")
        for fault in self._armed:
            if not fault.fired and not self._lenient:
                self._note("suite", "missed", fault.proc, point=fault.point, action=fault.action)
        program = self._program
        return History(program.id, program.family, {}, tuple(self._recorder.events))

    def close(self) -> None:
        """End the processes and remove the state directory."""
        if self._session is not None:
            self._session.close()

    @property
    def points(self) -> list[Point]:
        """Every port call that was recorded."""
        return self._log.points

    def alive(self, proc: str) -> bool:
        """Whether a process of this name runs."""
        return proc in self._processes

    def busy(self, proc: str) -> bool:
        """Whether it has a command outstanding."""
        return proc in self._processes and self._processes[proc].outstanding is not None

    def paused(self) -> list[str]:
        """The processes that wait for a resume."""
        return sorted(p.name for p in self._processes.values() if p.paused is not None)

    def held(self) -> list[str]:
        """The processes whose request the remote holds."""
        return sorted({c.proc for c in self._remote.held()})

    def _do(self, op: Op) -> None:
        process = self._processes.get(op.proc)
        if op.op == "start":
            self._start(op.proc, op.args.get("config"))
        elif op.op in ("call", "recover"):
            self._call(op, process)
        elif op.op == "arm":
            self._arm(op, process)
        elif op.op == "resume":
            if process is not None and process.paused is not None:
                self._resume(process)
        elif op.op == "release":
            self._release(op.proc, Behaviour.from_json(op.args["behaviour"]))
        elif op.op == "kill":
            if process is not None:
                self._kill(process, "kill")
        elif op.op == "time":
            self._move_time(op.args)
        elif op.op == "script":
            behaviours = [Behaviour.from_json(b) for b in op.args["behaviours"]]
            self._note("suite", "script", behaviours=[b.to_json() for b in behaviours])
            self._remote.script(behaviours)
        elif op.op == "settle":
            self._settle()
            if not self._timed and not self._remote.held():
                self._hear_waiting()
        elif op.op == "free":
            self._free()
        elif op.op == "restart":
            self._restart()
        elif op.op == "snapshot":
            self._snapshot("asked")
        else:
            raise SuiteProblem(f"op {op.op!r} must be resolved before a program runs")

    # -- processes ---------------------------------------------------------------------------------------------

    def _start(self, name: str, config: Mapping[str, Any] | None) -> None:
        if config is not None and config != self._config:
            self._config = config
            self._note(
                "suite", "config", config=dict(config), limits=dict(self._program.limits), clock=self._time.to_json()
            )
        if name in self._processes:
            return
        process = self._open(name)
        self._processes[name] = process
        self._note("suite", "start", name)
        if self._rows.process is None and self._rows.supported:
            self._rows.process = self._open(_OBSERVER)

    def _open(self, name: str) -> Process:
        assert self._session is not None
        process = Process(name, self._session.start(name))
        fresh = self._starts == 0
        self._starts += 1
        args = {
            "run": f"r{self._starts}",
            "state": "fresh" if fresh else "existing",
            "record": self._record,
            "state_dir": str(self._session.state_dir),
            "remote": self._session.base_url(name),
            "clock": self._time.to_json(),
            "limits": dict(self._program.limits),
            "config": dict(self._config),
        }
        reply = self._ask(process, "reset", args)
        must_be_done(reply, f"reset of process {name!r}")
        if self._record and name != _OBSERVER:
            self._ask(process, "arm", {"point": "*", "nth": 1, "action": "pause", "sticky": True})
        return process

    def _kill(self, process: Process, why: str) -> None:
        process.link.kill()
        del self._processes[process.name]
        self._outages.discard(process.name)
        self._note("suite", "kill", process.name, why=why)
        if process.outstanding is not None:
            (number, cmd), process.outstanding = process.outstanding, None
            self._note("answer", "answer", process.name, id=number, cmd=cmd, outcome="no-answer")
        self._snapshot("after kill")

    # -- messages ----------------------------------------------------------------------------------------------

    def _number(self) -> int:
        self._next_id += 1
        return self._next_id

    def _send(self, process: Process, number: int, cmd: str, args: Mapping[str, Any]) -> None:
        """In process this runs the driver, so that other requests may be numbered and sent before it returns."""
        members = {"actor": process.name, "args": dict(args), "deadline_ms": _DEADLINE_MS}
        process.link.send({"v": 1, "id": number, "cmd": cmd, **members})

    def _ask(self, process: Process, cmd: str, args: Mapping[str, Any]) -> Message:
        """Send a request that is answered at once, also while a command is outstanding.

        Raises Crashed when the process goes on with its command first, and reaches a call at which it is to crash.
        """
        number, lived = self._number(), process.name in self._processes
        self._send(process, number, cmd, args)
        while number not in process.answered:
            if not self._step(process):
                if lived and process.name not in self._processes:
                    raise Crashed(
                        f"process {process.name!r} crashed, as it was armed to, ahead of its answer to {cmd!r}"
                    )
                raise DriverProblem(f"process {process.name!r} did not answer {cmd!r}")
        return process.answered.pop(number)

    def _drain(self, process: Process) -> None:
        """Take in everything the process says until it is done or blocked.

        A command that is not answered before the harness deadline has no answer, and its process is ended. While a
        program is recorded nothing is disturbed, so a deadline there means that the driver cannot be used.
        """
        try:
            while process.name in self._processes and self._step(process):
                pass
        except DeadlinePassed:
            if process.outstanding is None or self._recording:
                raise
            self._kill(process, "deadline")

    def _step(self, process: Process) -> bool:
        message = process.link.recv()
        if message is None:
            return False
        event = message.get("event")
        if event is None:
            self._on_reply(process, message)
        elif event == "paused":
            self._on_paused(process, message)
        elif event == "fired":
            self._on_fired(process, message)
        elif event == "point":
            self._log.add(self._op_index, process, message)
        elif event == "waiting":
            process.waits_since = self._done
            self._note("note", "waiting", process.name, on=message.get("on"))
        else:
            raise DriverProblem(f"process {process.name!r} sent the unknown event {event!r}")
        return True

    def _on_reply(self, process: Process, message: Message) -> None:
        if process.outstanding is None or message.get("id") != process.outstanding[0]:
            process.answered[message["id"]] = message
            return
        number, cmd = process.outstanding
        process.outstanding = None
        self._done += message["outcome"] == "done"
        members = {k: v for k, v in message.items() if k in ("outcome", "result", "detail", "feature", "reason")}
        self._note("answer", "answer", process.name, id=number, cmd=cmd, **members)
        self._snapshot("after answer")

    def _on_paused(self, process: Process, message: Message) -> None:
        point = str(message["point"])
        process.paused = int(message["pause"])
        # The recording's own pause comes first; a second one at this call belongs to the program.
        own = self._record and point.rpartition(":")[2] in PAUSABLE and process.labelled != process.latest
        if own:
            process.labelled = process.latest
            self._log.label(self._rows.read() or {})
            self._resume(process, note=False)
            return
        for fault in self._armed:
            if fault.proc == process.name and fault.point == point and fault.action == "crash":
                self._kill(process, f"crash at {point}")
                return
        self._note("note", "paused", process.name, point=point)
        self._snapshot("paused")

    def _on_fired(self, process: Process, message: Message) -> None:
        for fault in self._armed:
            if fault.proc == process.name and fault.point == message["point"] and not fault.fired:
                fault.fired = True
                self._note("suite", "fault", process.name, point=fault.point, action=fault.action, **fault.members)
                return
        if process.name in self._outages and message["action"] == "fail":
            self._note("suite", "fault", process.name, point=message["point"], action="fail")
            return
        if self._record:
            return
        raise DriverProblem(f"process {process.name!r} reports that an unarmed fault fired at {message['point']!r}")

    # -- ops ---------------------------------------------------------------------------------------------------

    def _call(self, op: Op, process: Process | None) -> None:
        cmd = "recover" if op.op == "recover" else str(op.args["cmd"])
        args = {} if op.op == "recover" else op.args["args"]
        if process is None or process.outstanding is not None:
            self._note("note", "skipped", op.proc, cmd=cmd)
            return
        verb, body = ("recover", {}) if op.op == "recover" else ("command", {"name": cmd, "args": args})
        number = self._number()
        self._note("suite", "command", op.proc, id=number, cmd=cmd, args=args)
        process.outstanding = (number, cmd)
        self._send(process, number, verb, body)
        self._drain(process)

    def _arm(self, op: Op, process: Process | None) -> None:
        if process is None:
            if not self._lenient:
                self._note("suite", "missed", op.proc, point=op.args["point"], action=op.args["action"])
            return
        action, point = str(op.args["action"]), str(op.args["point"])
        members = {k: op.args[k] for k in ("world", "changes") if k in op.args}
        if "outage" in op.args:
            # Armed first, so that it counts the call at which the fault itself strikes.
            members["outage"] = True
            self._outages.add(op.proc)
            later = {"point": "*", "nth": op.args["outage"] + 1, "action": "fail", "sticky": True}
            must_be_done(self._ask(process, "arm", later), f"arm of an outage in {op.proc!r}")
        fault = ArmedFault(op.proc, point, action, members)
        self._armed.append(fault)
        args = {"point": point, "nth": op.args["nth"], "action": fault.wire, "sticky": False}
        reply = self._ask(process, "arm", {**args, "world": op.args["world"]} if "world" in op.args else args)
        must_be_done(reply, f"arm of {point!r} in {op.proc!r}")

    def _resume(self, process: Process, note: bool = True) -> None:
        pause, process.paused = process.paused, None
        if note:
            self._note("note", "resumed", process.name)
        number = self._number()
        self._send(process, number, "resume", {"pause": pause})
        self._drain(process)
        reply = process.answered.pop(number, None)
        if reply is not None:
            must_be_done(reply, f"resume in {process.name!r}")

    def _release(self, proc: str, behaviour: Behaviour) -> None:
        for conn in self._remote.held(proc):
            self._note("suite", "release", proc, conn=conn.number, behaviour=behaviour.to_json())
            self._remote.release(conn, behaviour)
        process = self._processes.get(proc)
        if process is not None:
            self._drain(process)

    def _move_time(self, args: Mapping[str, Any]) -> None:
        if not self._timed:
            self._note("note", "skipped", cmd="set_time")
            return
        self._time.move(args)
        self._note("suite", "time", **self._time.to_json())
        self._tick()
        for conn in self._remote.held():
            if conn.behaviour.kind == "late":
                # One after the other: processes that go on at the same time would race for the store.
                self._remote.release(conn, Behaviour())
                if conn.proc in self._processes:
                    self._drain(self._processes[conn.proc])

    def _tick(self) -> None:
        if not self._timed:
            return
        for process in list(self._processes.values()):
            try:
                reply = self._ask(process, "set_time", {"clock": self._time.to_json()})
            except Crashed:
                continue
            must_be_done(reply, f"set_time in {process.name!r}")
            self._drain(process)

    def _settle(self) -> None:
        for _ in range(_MAX_ROUNDS):
            before = len(self._recorder.events)
            self._tick()
            if not any(e.cls in ("answer", "wire") for e in self._recorder.events[before:]):
                return
        raise DriverProblem(f"the processes did not come to rest within {_MAX_ROUNDS} rounds of set_time")

    def _free(self) -> None:
        """Let everything that is paused or held run to its end, the remote answering with a success."""
        for process in list(self._processes.values()):
            if process.paused is not None:
                self._resume(process)
        for conn in self._remote.held():
            self._release(conn.proc, Behaviour())
        self._settle()

    def _hear_waiting(self) -> None:
        """Below L1 no `set_time` makes a waiting command look again: it does so by itself, and is listened to.

        Only if some other command has been done since: before, there is nothing new for it to see.
        """
        for process in list(self._processes.values()):
            if process.outstanding is not None and process.waits_since < self._done:
                process.link.listen()
                self._drain(process)

    def _restart(self) -> None:
        for process in list(self._processes.values()):
            self._kill(process, "restart")

    def _on_connect(self, proc: str) -> None:
        process = self._processes.get(proc)
        while process is not None and process.link.pending():
            self._step(process)

    def _on_request(self, conn: Conn) -> None:
        self._snapshot("request", conn.proc)

    def _snapshot(self, why: str, proc: str = "") -> None:
        rows = self._rows.read()
        if rows is not None:
            self.latest_rows = rows
            self._note("rows", "rows", proc, why=why, kinds=rows)
