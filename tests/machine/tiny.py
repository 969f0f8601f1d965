"""A tiny implementation behind the kit, and a family around it: what the tests of the machine run instead of a host.

It keeps one row per job in a JSON file. ``tiny.send`` makes the row ``Open``, asks the remote, and makes it ``Done``,
``Refused`` or ``Unknown``. Nothing of the protocols is known here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.carriers.inprocess import InProcessCarrier
from conformance.checkers.base import Finding, Met, Registry, Violation
from conformance.families.base import Family, Walk, WalkCommand
from conformance.families.mutation_host.contract import EffectContract
from conformance.history import History
from conformance.kit import AckLost, Ports, RemoteUnknown, Setup, StoreFailed, Unsupported
from conformance.search.execute import Execution
from conformance.search.plan import Plan
from conformance.search.program import Op, Program, call, recover, script, start, time
from conformance.search.scenario import Scenario
from conformance.search.walk import WalkResult, walk


class TinyStore:
    """Rows and their log in one file; a transaction writes one row."""

    def __init__(self, path: Path, ports: Ports) -> None:
        self._path = path
        self._seam = ports.seam
        self.closed = False
        ports.resources.append(self._close)

    def _close(self) -> None:
        self.closed = True

    def load(self) -> dict[str, Any]:
        """Everything that is durable."""
        content: dict[str, Any] = json.loads(self._path.read_text())
        return content

    def read(self, step: str) -> Mapping[str, str]:
        """The rows, by a read that may fail."""
        self._seam.reach(step, "read")
        rows: Mapping[str, str] = self.load()["jobs"]
        return rows

    def move(self, step: str, job: str, state: str) -> None:
        """One transaction."""
        self._seam.reach(step, "begin")
        self._seam.reach(step, "write")
        world = self._seam.reach(step, "commit")
        if world != "rolled_back":
            content = self.load()
            before = content["jobs"].get(job)
            content["jobs"][job] = state
            content["log"].append({"entity": "job", "id": job, "from_state": before, "to_state": state})
            self._path.write_text(json.dumps(content))
        if world is not None:
            raise AckLost(f"{step}: nobody knows")
        self._seam.reach(step, "committed")


class TinyRuntime:
    """One opened tiny implementation."""

    def __init__(self, store: TinyStore, ports: Ports) -> None:
        self.store = store
        self.ports = ports
        self.handled: list[str] = []

    def command(self, cmd: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """``tiny.put``, ``send``, ``wait``, ``look``, ``id`` and two that go wrong."""
        if cmd == "tiny.put":
            self.store.move("put", args["job"], "New")
            return {"status": "put"}
        if cmd == "tiny.send":
            return {"status": self.send(args["job"])}
        if cmd == "tiny.wait":
            while self.ports.clock.now("wait").mono_ms < args["until_ms"]:
                self.ports.wait("time")
            return {"status": "waited"}
        if cmd == "tiny.look":
            return {"status": "seen", "jobs": dict(self.store.read("look"))}
        if cmd == "tiny.id":
            return {"id": self.ports.ids.new("id"), "now": self.ports.clock.now("id").wall_ms}
        if cmd == "tiny.break":
            raise RuntimeError("it broke \x1b[31m")
        raise Unsupported(cmd, "too tiny for that")

    def send(self, job: str) -> str:
        """Open, ask, close; whatever is lost makes the job unknown."""
        try:
            self.store.move("open", job, "Open")
            answer = self.ports.remote.post("send", "/effect/job", {"marker": job, "input": {}}, 20_000)
            state = {200: "Done", 422: "Refused"}.get(answer.status, "Unknown")
        except (StoreFailed, AckLost):
            self.handled.append(job)
            return "unavailable"
        except RemoteUnknown:
            state = "Unknown"
        try:
            self.store.move("close", job, state)
        except (StoreFailed, AckLost):
            return "unrecorded"
        return state

    def recover(self) -> Mapping[str, Any]:
        """Close what is open."""
        still = [job for job, state in self.store.read("recover").items() if state == "Open"]
        for job in still:
            self.store.move("recover", job, "Unknown")
        return {"status": "done", "settled": len(still)}

    def snapshot(self) -> Mapping[str, Any]:
        """The rows, in the canonical form."""
        content = self.store.load()
        jobs = [{"job": job, "state": state} for job, state in content["jobs"].items()]
        return {"source": "store", "kinds": {"jobs": jobs, "status_log": content["log"]}}


class Tiny:
    """The implementation."""

    runtime: type[TinyRuntime] = TinyRuntime

    def __init__(self) -> None:
        self.opened: list[TinyRuntime] = []

    def hello(self) -> Mapping[str, Any]:
        """Who this is."""
        identity = {"name": "tiny", "version": "1", "language": "python", "families": ["tiny"], "rung": "L2"}
        return {**identity, "features": ["status_log"], "clock": "virtual"}

    def open(self, setup: Setup, ports: Ports) -> TinyRuntime:
        """Open the file, made new for a fresh state."""
        path = setup.state_dir / "jobs.json"
        if setup.fresh:
            path.write_text('{"jobs": {}, "log": []}')
        runtime = self.runtime(TinyStore(path, ports), ports)
        self.opened.append(runtime)
        return runtime


class SendsTwice(TinyRuntime):
    """Asks the remote again when the first answer was lost."""

    def send(self, job: str) -> str:
        """Twice, if it takes two."""
        said = super().send(job)
        return super().send(job) if said == "Unknown" else said


class TinyTwice(Tiny):
    """The implementation with the fault."""

    runtime = SendsTwice


CHECKERS = Registry("tiny")


@CHECKERS.checker("TINY-1", "wire")
def once(history: History) -> Iterator[Finding]:
    """A marker is seen at the remote once."""
    seen: set[str] = set()
    for event in history.of("wire"):
        if event.kind == "request":
            yield Met("sent")
            if event.data["marker"] in seen:
                yield Violation("one request for each job", "a second one", event.seq, "wire")
            seen.add(event.data["marker"])


def send(proc: str, job: str) -> Op:
    """The one command that matters."""
    return call(proc, "tiny.send", job=job)


def put(proc: str, job: str) -> Op:
    """The one without a request."""
    return call(proc, "tiny.put", job=job)


SCENARIO = Scenario(
    "tiny/send",
    "tiny",
    {"family": "tiny"},
    (start("w1"), send("w1", "j1")),
    retry=(start("e1"), recover("e1")),
    seconds={"recover": (start("r1"), recover("r1"))},
    twice=("recover",),
)
WALK = Walk(
    config={"family": "tiny"},
    workers=("w1", "w2"),
    commands=(
        WalkCommand("send", ("w1", "w2"), lambda proc, _, serial: send(proc, f"j{serial}")),
        WalkCommand("put", ("w2", "w1"), lambda proc, which, _: put(proc, f"p{which}")),
        WalkCommand("recover", ("r1",), lambda proc, *_: recover(proc)),
    ),
    times=(time(1_000), time(25_000)),
    closing=(script(), start("e1"), recover("e1")),
)
TINY = Family("tiny", (SCENARIO,), (time(30_000),), lambda _: EffectContract(), CHECKERS, lambda history: history, WALK)


def carrier(make: Callable[[], Tiny] = Tiny) -> InProcessCarrier:
    """The in-process carrier of a tiny implementation."""
    return InProcessCarrier("tiny", make)


def program(*ops: Op, id: str = "t") -> Program:
    """A schedule of these ops."""
    return Program(id, "tiny", {"family": "tiny"}, ops, {})


def run(*ops: Op, make: Callable[[], Tiny] = Tiny, lenient: bool = False) -> History:
    """The history of these ops."""
    return Execution(program(*ops), carrier(make), TINY.contract, lenient=lenient).run()


def walks(plan: Plan, make: Callable[[], Tiny] = Tiny, *, seed: int = 0, examples: int) -> list[WalkResult]:
    """Random walks over an implementation."""
    found: list[WalkResult] = []
    walk(TINY, carrier(make), plan, seed, examples, {}, found.append)
    return found


def arm(proc: str, point: str, action: str, nth: int = 1, **members: Any) -> Op:
    """A fault at a point."""
    return Op("arm", {"proc": proc, "point": point, "nth": nth, "action": action, **members})


def brief(history: History, *classes: str) -> list[str]:
    """A history as short lines, so that a test can show the order of things."""
    return [_brief(e.kind, e.proc, e.data) for e in history.events if not classes or e.cls in classes]


def _brief(kind: str, proc: str, data: Mapping[str, Any]) -> str:
    said = data.get("result", {}).get("status") if isinstance(data.get("result"), Mapping) else None
    words = [kind, proc, data.get("point"), data.get("why"), data.get("how"), data.get("marker"), said]
    words += [data["outcome"]] if data.get("outcome") not in (None, "done") else []
    return " ".join(str(w) for w in words if w)


def jobs(history: History) -> dict[str, str]:
    """The rows as they were seen last."""
    last = [e for e in history.events if e.cls == "rows"][-1]
    return {row["job"]: row["state"] for row in last.data["kinds"]["jobs"]}


def answers(history: History) -> list[Any]:
    """What the callers were told: statuses, or the outcome where there is none."""
    said: Iterable[Mapping[str, Any]] = (e.data for e in history.events if e.cls == "answer")
    return [d["result"].get("status") if d["outcome"] == "done" else d["outcome"] for d in said]
