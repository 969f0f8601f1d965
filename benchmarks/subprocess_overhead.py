"""How much the process carrier adds to bare processes: the same driver, the same lines, with and without the suite.

A schedule is run once by the suite while every step is noted (start, line out, line in, request, answer, kill). The
bare loop then repeats exactly these steps with pipes and a blocking socket, and knows nothing else. Budget: 1.5 times
(DESIGN section 10). Run: ``python benchmarks/subprocess_overhead.py [rounds]``.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from conformance.carriers.base import Carrier, Link, Message, Session
from conformance.carriers.inprocess import InProcessCarrier, store_root
from conformance.carriers.subprocess import ForkedCarrier, ProcessCarrier
from conformance.families.mutation_host import MUTATION_HOST
from conformance.history import Recorder
from conformance.remote.remote import Conn, Remote, Reply
from conformance.remote.request import answer
from conformance.search.execute import Execution
from conformance.search.plan import make_plan
from conformance.search.program import Program
from reference_impl.driver import Reference

COMMAND = [sys.executable, "-m", "reference_impl"]
#: Answers each line with an empty result, and imports next to nothing.
LEAN = """
import sys
for line in sys.stdin:
    number = line.split('"id":', 1)[1].split(",", 1)[0].strip(" }")
    sys.stdout.write('{"id":%s,"outcome":"done","result":{}}\\n' % number)
    sys.stdout.flush()
"""
HELLO = {"v": 1, "id": 1, "cmd": "hello", "args": {}}
BUDGET = 1.5
Step = tuple[str, str, Any]


class NotedLink:
    """A link that notes what goes through it."""

    def __init__(self, link: Link, proc: str, steps: list[Step]) -> None:
        self._link, self._proc, self._steps = link, proc, steps

    def send(self, message: Message) -> None:
        self._steps.append(("send", self._proc, message))
        self._link.send(message)

    def pending(self) -> bool:
        return self._link.pending()

    def recv(self) -> Message | None:
        message = self._link.recv()
        if message is not None:
            self._steps.append(("recv", self._proc, None))
        return message

    def kill(self) -> None:
        self._steps.append(("kill", self._proc, None))
        self._link.kill()


class NotedSession:
    """A session whose links are noted."""

    def __init__(self, session: Session, steps: list[Step]) -> None:
        self._session, self._steps = session, steps
        self.state_dir = session.state_dir

    def start(self, proc: str) -> Link:
        self._steps.append(("start", proc, None))
        return NotedLink(self._session.start(proc), proc, self._steps)

    def base_url(self, proc: str) -> str:
        return self._session.base_url(proc)

    def close(self) -> None:
        self._session.close()


class NotingCarrier:
    """Notes the steps of one schedule, those at the remote included."""

    name = "noting"

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self.steps: list[Step] = []

    def open(self, remote: Remote) -> Session:
        receive = remote.receive

        def noted(conn: Conn, method: str, path: str, body: bytes) -> None:
            self.steps.append(("request", conn.proc, None))
            receive(conn, method, path, body)
            if isinstance(conn.outcome, Reply):
                self.steps.append(("answer", conn.proc, answer(conn.outcome)))

        remote.receive = noted  # type: ignore[method-assign]
        return NotedSession(self._carrier.open(remote), self.steps)

    def shutdown(self) -> None:
        self._carrier.shutdown()


def bare(steps: list[Step], command: Sequence[str] = COMMAND) -> None:
    """The same steps with nothing around them."""
    folder = tempfile.mkdtemp(prefix="onceproof-bare-", dir=store_root())
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    processes: dict[str, subprocess.Popen[bytes]] = {}
    connection: socket.socket | None = None
    pipe = subprocess.PIPE
    for kind, proc, what in steps:
        if kind == "start":
            processes[proc] = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
        elif kind == "send":
            message = what
            if what["cmd"] == "reset":
                message = {**what, "args": {**what["args"], "state_dir": folder, "remote": url}}
            stdin = processes[proc].stdin
            assert stdin is not None
            stdin.write(json.dumps(message).encode() + b"\n")
            stdin.flush()
        elif kind == "recv":
            stdout = processes[proc].stdout
            assert stdout is not None
            json.loads(stdout.readline())
        elif kind == "request":
            connection, _ = listener.accept()
            connection.recv(65536)
        elif kind == "answer":
            assert connection is not None
            connection.sendall(what)
            connection.close()
        else:
            end(processes.pop(proc))
    for process in processes.values():
        end(process)
    listener.close()
    shutil.rmtree(folder)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill one process and close its pipes."""
    os.killpg(process.pid, signal.SIGKILL)
    with process:
        pass


def schedules() -> list[Program]:
    """A scenario as it is, and one of its crashes with the restart after it."""
    plan = make_plan(MUTATION_HOST, InProcessCarrier("reference", Reference), "ci").programs
    mine = [p for p in plan if p.id.startswith("mutation/invoke-keyed")]
    return [mine[0], next(p for p in mine if "settle:committed#1@crash" in p.id)]


def seconds(job: Callable[[], object]) -> float:
    """How long one run of the job takes."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def lean(rounds: int) -> float:
    """Start, one answer and kill of the leanest driver there is, where the suite's own work weighs most."""
    command = [sys.executable, "-I", "-S", "-c", LEAN]
    carrier = ProcessCarrier("lean", command)
    steps: list[Step] = [("start", "p", None), ("send", "p", HELLO), ("recv", "p", None), ("kill", "p", None)]
    pairs = [(1 / starts_per_second(carrier, 1), seconds(lambda: bare(steps, command))) for _ in range(4 * rounds)]
    carrier.shutdown()
    suite, alone = (sorted(times)[2 * rounds] * 1000 for times in zip(*pairs, strict=True))
    print(f"\nlean driver, start, hello and kill: carrier {suite:.1f} ms, bare {alone:.1f} ms, {suite / alone:.2f} x")
    return float(suite / alone)


def starts_per_second(carrier: Carrier, count: int) -> float:
    """Starts answered and killed per second, one after the other."""
    session = carrier.open(Remote(Recorder(), MUTATION_HOST.contract, lambda _: None, lambda _: None))
    try:
        start = time.perf_counter()
        for number in range(count):
            link = session.start(f"p{number}")
            link.send(HELLO)
            link.recv()
            link.kill()
        return count / (time.perf_counter() - start)
    finally:
        session.close()


def compare(program: Program, spawned: Carrier, forked: Carrier, rounds: int) -> float:
    """Print the figures of one schedule and return the overhead."""

    def run(carrier: Carrier) -> None:
        Execution(program, carrier, MUTATION_HOST.contract).run()

    noting = NotingCarrier(spawned)
    run(noting)
    run(forked)
    count = sum(kind == "start" for kind, _, _ in noting.steps)
    # In turns, so that a busy machine slows all of them.
    triples = [
        (seconds(lambda: run(spawned)), seconds(lambda: bare(noting.steps)), seconds(lambda: run(forked)))
        for _ in range(rounds)
    ]
    suite, alone, fast = (sorted(times)[rounds // 2] * 1000 for times in zip(*triples, strict=True))
    print(f"\n{program.id}: {count} processes, {len(noting.steps)} steps")
    print(f"  process carrier {suite:7.1f} ms")
    print(f"  bare loop       {alone:7.1f} ms   overhead {suite / alone:.2f} x")
    print(f"  forked carrier  {fast:7.1f} ms")
    return float(suite / alone)


def main() -> int:
    """Print the figures; the exit status is 1 when the budget is exceeded."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    spawned, forked = ProcessCarrier("reference", COMMAND), ForkedCarrier("reference", COMMAND)
    print(f"state directories in {store_root()}; median of {rounds} rounds; processes count the observer")
    try:
        worst = max(compare(program, spawned, forked, rounds) for program in schedules())
        worst = max(worst, lean(rounds))
        print(f"\nForkedCarrier  {starts_per_second(forked, 200):7.1f} starts, answers and kills per second")
        print(f"ProcessCarrier {starts_per_second(spawned, 20):7.1f} starts, answers and kills per second")
    finally:
        spawned.shutdown()
        forked.shutdown()
    print(f"\nworst overhead {worst:.2f} x, budget {BUDGET} x: {'kept' if worst <= BUDGET else 'EXCEEDED'}")
    return 0 if worst <= BUDGET else 1


if __name__ == "__main__":
    sys.exit(main())
