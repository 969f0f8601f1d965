"""One short conversation with a driver, for whoever is writing it: what is said, and what is wrong with it.

It judges no requirement. Its commands are those of the family's first scenario, which holds one effect and the
caller's retry of it; here are only the acts in which they are played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.carriers.base import Carrier, DriverProblem, Message
from conformance.carriers.farewell import farewell
from conformance.carriers.tap import SAY, Listener, TappedCarrier, TappedLink
from conformance.drivers import PATIENCE_MS, Identity, identify
from conformance.families.base import Family
from conformance.history import Event
from conformance.search.execute import Execution
from conformance.search.program import SETTLE, Op, kill, script
from conformance.search.scenario import Scenario

_HELLO: Final = "who are you?"


@dataclass(slots=True)
class Talk:
    """What came of it: sentences about what the driver has to mend, and remarks that are no fault by themselves."""

    identity: Identity | None = None
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


class NoSuchFamily(Exception):
    """The driver offers none of the families that were asked for (exit code 2)."""


def talk(
    carrier: Carrier, families: dict[str, Family], wanted: str | None, hear: Listener, act: Callable[[str], None]
) -> Talk:
    """Hold the conversation, telling ``hear`` every message and ``act`` the title of each part.

    ``families`` are those that this suite knows, ``wanted`` the one to talk in (None: the first that the driver
    offers). Raises NoSuchFamily; a driver that breaks the protocol is a problem in what comes back, and ends it.
    """
    found = Talk()
    stage = _Stage(carrier, hear, found)
    try:
        act(_HELLO)
        stage.hello()
        assert found.identity is not None
        family = _family(families, found.identity, wanted)
        scenario = family.scenarios[0]
        for title, rung, ops in _acts(scenario, found.identity.rung, remote=family.walk.remote):
            act(title)
            stage.play(family, scenario, ops, rung)
    except DriverProblem as problem:
        found.problems.append(str(problem))
    return found


def _family(families: dict[str, Family], identity: Identity, wanted: str | None) -> Family:
    if wanted is not None and wanted not in families:
        raise NoSuchFamily(f"--family {wanted}: this suite knows {', '.join(families)}")
    offered = [name for name in identity.families if wanted in (None, name)]
    chosen = next((families[name] for name in offered if name in families), None)
    if chosen is None:
        raise NoSuchFamily(
            f"the driver offers the families {', '.join(identity.families) or '(none)'}; this suite can talk in"
            f" {wanted or ', '.join(families)}"
        )
    return chosen


def _acts(scenario: Scenario, rung: str, *, remote: bool) -> Iterator[tuple[str, str, tuple[Op, ...]]]:
    """(title, rung to play it at, steps): everything of L0, then once with the rows and the time of L1."""
    yield "one effect, then recovery and the same request in another process", "L0", (*scenario.ops, *scenario.retry)
    crash = (*scenario.ops, kill(scenario.victim), *scenario.retry)
    if remote:
        held = "a kill while the remote holds the request, then recovery and the same request"
        yield held, "L0", (script("hold"), *crash)
    else:
        yield "a kill, then recovery and the same commands", "L0", crash
    if rung != "L0":
        yield "one effect with the rows and the time of L1", "L1", (*scenario.ops, SETTLE)


class _Stage:
    """Plays one act after the other and collects what was wrong."""

    def __init__(self, carrier: Carrier, hear: Listener, found: Talk) -> None:
        self._carrier, self._found = carrier, found
        self._outside = hear

    def hello(self) -> None:
        """Ask who it is; its process ends with `bye`."""
        told: list[str] = []
        self._found.identity = identify(self._tapped("L0"), told.append)
        self._found.problems += told

    def play(self, family: Family, scenario: Scenario, ops: tuple[Op, ...], rung: str) -> None:
        """One act on a fresh state directory; the processes that still live at its end leave with `bye`."""
        tapped = self._tapped(rung)
        execution = Execution(scenario.program().with_ops("", ops), tapped, family.contract)
        execution.begin()
        try:
            for op in ops:
                execution.do(op)
            self._look_back(execution.end().events, remote=family.walk.remote)
            assert tapped.session is not None
            for link in tapped.session.links:
                self._part(link)
        finally:
            execution.close()

    def _tapped(self, rung: str) -> TappedCarrier:
        tapped = TappedCarrier(self._carrier, self._hear)
        tapped.rung = rung
        return tapped

    def _hear(self, way: str, proc: str, message: Message | None) -> None:
        self._outside(way, proc, message)
        if way == SAY and message is not None and message.get("outcome") in ("failed", "unsupported"):
            self._note(self._found.problems, _undone(proc, message))

    def _look_back(self, events: tuple[Event, ...], *, remote: bool) -> None:
        if remote and not any(e.cls == "wire" for e in events):
            self._note(
                self._found.problems,
                "nothing reached the remote: does the implementation send to the address that `reset` of this very"
                " process gave as `remote`?",
            )
        for event in events:
            if event.kind == "kill" and event.data.get("why") == "deadline":
                self._note(
                    self._found.problems,
                    f"process {event.proc!r} gave no answer in time and was killed: a command that waits for another"
                    " one says `waiting`",
                )

    def _part(self, link: TappedLink) -> None:
        if not link.alive:
            return
        if link.open:
            remark = f"process {link.proc!r} still waits at the end; in a run it would be asked again later"
            self._note(self._found.remarks, remark)
            return
        problem = farewell(link, link.latest + 1, link.proc, PATIENCE_MS)
        if problem:
            self._note(self._found.problems, problem)

    @staticmethod
    def _note(sentences: list[str], sentence: str) -> None:
        """Once is enough, however often it happened."""
        if sentence not in sentences:
            sentences.append(sentence)


def _undone(proc: str, message: dict[str, Any]) -> str:
    if message["outcome"] == "failed":
        return f"process {proc!r} could not do its job: {message.get('detail')}"
    return (
        f"process {proc!r} answered unsupported to {message.get('feature')} ({message.get('reason')}), which its rung"
        " or its family includes"
    )
