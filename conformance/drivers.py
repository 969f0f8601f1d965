"""Which driver a run is about: the reference in one of two carriers, a planted reference, or any command."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from conformance.carriers.base import Carrier, DriverProblem, Link
from conformance.carriers.farewell import farewell
from conformance.carriers.inprocess import InProcessCarrier
from conformance.carriers.subprocess import DEADLINE_MS, ForkedCarrier, ProcessCarrier
from conformance.history import Recorder
from conformance.remote.remote import NoContract, Remote

#: How long a process that said good-bye after `hello` may take to end.
PATIENCE_MS: Final = 2_000


class UnknownDriver(Exception):
    """The name of a driver is neither known nor a command."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a driver says of itself in ``hello``."""

    name: str
    version: str
    language: str
    issues: str
    families: tuple[str, ...]
    features: tuple[str, ...]
    rung: str
    clock: str
    readings: dict[str, str] = field(default_factory=dict)
    #: The points that it offers by name: a claim that `doctor` looks at, and that no record needs.
    points: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For the header of a run record."""
        return {
            "name": self.name,
            "version": self.version,
            "language": self.language,
            "issues": self.issues,
            "families": list(self.families),
            "features": list(self.features),
            "rung": self.rung,
            "clock": self.clock,
            "readings": dict(self.readings),
        }


def carrier_maker(
    driver: str,
    *,
    folder: Path | None = None,
    env: Mapping[str, str] | None = None,
    deadline_ms: int = DEADLINE_MS,
) -> Callable[[], Carrier]:
    """A function that makes the carrier of a driver name, in whichever process it is called.

    ``reference`` and ``reference:process``, the same with a planted fault as ``reference+ID``; anything else is a
    command line, which runs in ``folder`` with ``env`` (None: the suite's own). ``deadline_ms`` is how long, in real
    time, a request may go without an answer. Raises UnknownDriver for an empty command line.
    """
    name, _, carrier = driver.partition(":")
    base, _, planted = name.partition("+")
    if base == "reference" and carrier in ("", "process"):
        if carrier == "process":
            return lambda: _forked(driver, planted, deadline_ms)
        return lambda: InProcessCarrier(driver, _implementation(planted))
    if base == "reference":
        raise UnknownDriver(f"the reference has no carrier {carrier!r}; give 'reference' or 'reference:process'")
    try:
        words = shlex.split(driver)
    except ValueError as problem:
        raise UnknownDriver(f"--driver {driver!r}: {problem}; give a command line as for a shell") from None
    if not words:
        raise UnknownDriver("--driver is empty; give 'reference', 'reference:process' or a command line in quotes")
    return lambda: ProcessCarrier(driver, words, env, deadline_ms, folder)


def twin_maker(driver: str) -> Callable[[], Carrier] | None:
    """The maker of the same driver in the other carrier, where there is one: for the carrier differential."""
    name, _, carrier = driver.partition(":")
    if name.partition("+")[0] != "reference":
        return None
    return carrier_maker(name if carrier == "process" else f"{name}:process")


def _implementation(planted: str) -> Any:
    # The reference is imported late: a driver in another language never needs it.
    from reference_impl.registry import UnknownPlanting, implementation  # noqa: PLC0415

    try:
        return implementation(planted or "reference")
    except UnknownPlanting as unknown:
        raise UnknownDriver(str(unknown)) from None


def _forked(driver: str, planted: str, deadline_ms: int) -> Carrier:
    _implementation(planted)
    arguments = ["--plant", planted] if planted else []
    return ForkedCarrier(driver, [sys.executable, "-m", "reference_impl", *arguments], deadline_ms=deadline_ms)


def identify(
    carrier: Carrier, complain: Callable[[str], None] | None = None, patience_ms: int = PATIENCE_MS
) -> Identity:
    """Ask a driver who it is; raises DriverProblem when it does not say so properly.

    Its process leaves with ``bye``. What is wrong with that is told to ``complain``; without one it does not matter,
    since it is killed then. ``patience_ms`` (real time) is how long it may take to end after its answer.
    """
    remote = Remote(Recorder(), NoContract(), _ignore, _ignore)
    session = carrier.open(remote)
    try:
        link = session.start("hello")
        link.send({"v": 1, "id": 1, "cmd": "hello", "actor": "hello", "args": {"versions": [1]}, "deadline_ms": 10_000})
        reply = link.recv()
        if reply is None or reply.get("id") != 1 or reply.get("outcome") != "done":
            raise DriverProblem(f"hello was answered {reply!r}; answer it with outcome 'done' and an identity")
        identity = _identity(reply["result"])
        problem = _part(link, patience_ms)
        if complain is not None and problem:
            complain(problem)
        return identity
    finally:
        session.close()


def _part(link: Link, patience_ms: int) -> str:
    try:
        return farewell(link, 2, "hello", patience_ms)
    except DriverProblem as problem:
        return str(problem)


def _ignore(_: object) -> None:
    """What happens at the remote says nothing about an identity."""


def _identity(said: dict[str, Any]) -> Identity:
    if said.get("v") != 1:
        raise DriverProblem(f"the driver speaks protocol version {said.get('v')!r}; this suite speaks 1")
    rung = said.get("rung")
    if rung not in ("L0", "L1", "L2"):
        raise DriverProblem(f"hello: rung {rung!r} is none of L0, L1, L2")
    try:
        return Identity(
            str(said["name"]),
            str(said["version"]),
            str(said.get("language", "unknown")),
            str(said.get("issues", "")),
            tuple(said["families"]),
            tuple(said.get("features", ())),
            rung,
            str(said.get("clock", "real")),
            dict(said.get("readings", {})),
            tuple(said.get("points", ())),
        )
    except KeyError as missing:
        raise DriverProblem(f"hello: the member {missing} is missing") from None
