"""The remote's mind, shared by the loopback server and the in-process transport, so that both behave alike."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from conformance.history import Recorder
from conformance.remote.script import Behaviour


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer; fewer body bytes than ``declared`` make it a cut one.

    ``identity`` is the id of the effect that a success tells of.
    """

    status: int
    body: bytes
    declared: int
    identity: str | None = None

    @property
    def complete(self) -> bool:
        """Whether all declared bytes are there."""
        return len(self.body) >= self.declared


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection ends without an answer: ``reset`` (RST) or an orderly close."""

    reset: bool


@dataclass(frozen=True, slots=True)
class Parsed:
    """A request as the effect contract of a family understands it. ``marker`` is None when it names none.

    ``key`` is what the request gives the remote to recognise a repetition by.
    """

    marker: str | None
    operation: str | None
    problem: str | None = None
    key: str | None = None


class Contract(Protocol):
    """How one family's requests name their effect, and what its definite answers look like."""

    def parse(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Parsed:
        """Attribute one request; header names may have any case; never raises."""
        ...

    def success(self, parsed: Parsed, number: int, identity: str | None) -> Reply:
        """The definite success for the ``number``-th request of the schedule (from 1).

        ``identity`` is the id that the script wants the effect to have; None leaves it to the contract.
        """
        ...

    def refusal(self, parsed: Parsed, code: str) -> Reply:
        """A definite refusal: evidence that no effect happened."""
        ...

    def indefinite(self, parsed: Parsed, status: int) -> Reply:
        """A complete answer with a status that proves nothing, whatever its body claims."""
        ...


#: A family's effect contract, made from every configuration document that a schedule uses.
ContractOf = Callable[[Sequence[Mapping[str, Any]]], Contract]


class NoContract:
    """For exchanges in which no request is expected: everything is unknown to it."""

    def parse(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Parsed:
        """No request means anything here."""
        del body, headers
        return Parsed(None, None, f"{method} {path}: no request was expected")

    def success(self, parsed: Parsed, number: int, identity: str | None) -> Reply:
        """The same answer to everything."""
        del number, identity
        return self.refusal(parsed, "unexpected")

    def refusal(self, parsed: Parsed, code: str) -> Reply:
        """404."""
        del parsed, code
        return _plain(404, b"{}")

    def indefinite(self, parsed: Parsed, status: int) -> Reply:
        """An error and no more."""
        del parsed
        return plain_error(status)


@dataclass(slots=True)
class Conn:
    """One accepted connection. ``outcome`` is None while the remote holds it; ``request`` counts what was read."""

    number: int
    proc: str
    behaviour: Behaviour
    parsed: Parsed | None = None
    outcome: Reply | Drop | None = None
    wake: Callable[[], None] | None = None
    gone: bool = False
    read: bool = field(default=False)
    request: int = 0


class Remote:
    """Accepts connections, logs every one of them, and does with each what the script says.

    ``on_connect`` is called with the process before anything of a connection is logged, so that what the process said
    earlier stands earlier in the history. ``on_request`` is called for each request that was read, before anything
    is answered: the suite looks at the durable rows there.
    """

    def __init__(
        self,
        recorder: Recorder,
        contract: Contract,
        on_connect: Callable[[str], None],
        on_request: Callable[[Conn], None],
    ) -> None:
        self._recorder = recorder
        self._contract = contract
        self._on_connect = on_connect
        self._on_request = on_request
        self._script: deque[Behaviour] = deque()
        self._default = Behaviour()
        self._requests = 0
        self.connections: list[Conn] = []

    def script(self, behaviours: Iterable[Behaviour]) -> None:
        """Behaviours for the next connections, in order of arrival; afterwards every answer is a success.

        What was left of an earlier script is dropped.
        """
        self._script = deque(behaviours)

    def connect(self, proc: str) -> Conn:
        """A connection was accepted from ``proc``; an answer may exist at once (a refused connection)."""
        self._on_connect(proc)
        behaviour = self._script.popleft() if self._script else self._default
        conn = Conn(len(self.connections) + 1, proc, behaviour)
        self.connections.append(conn)
        self._recorder.add("wire", "connection", proc, conn=conn.number)
        if behaviour.answer == "reset":
            self._end(conn, Drop(reset=True))
        return conn

    def receive(
        self, conn: Conn, method: str, path: str, body: bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        """The bytes of a request are there: it is read and answered, or only drained, as the script says."""
        self._log_request(conn, method, path, body, headers or {}, conn.behaviour.reads)
        if not conn.behaviour.reads:
            if conn.behaviour.answer == "close":
                self._end(conn, Drop(reset=False))
            return
        conn.read = True
        self._requests += 1
        conn.request = self._requests
        self._on_request(conn)
        if conn.behaviour.answer != "hold":
            self._answer(conn, conn.behaviour)

    def discard(self, conn: Conn, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> None:
        """The client went away in the middle of a request: logged as sent, without effect and without an answer."""
        self._log_request(conn, method, path, body, headers, read=False)

    def release(self, conn: Conn, behaviour: Behaviour) -> None:
        """Let a held connection go on as ``behaviour`` says; one that was never read cannot be answered."""
        if conn.outcome is not None or conn.gone:
            return
        if behaviour.answer == "reset" or not conn.read:
            self._end(conn, Drop(reset=True))
        else:
            self._answer(conn, behaviour)
        if conn.wake is not None:
            conn.wake()

    def lost(self, conn: Conn) -> None:
        """The other side closed the connection (it timed out, or its process was killed)."""
        if not conn.gone and conn.outcome is None:
            self._recorder.add("wire", "abandoned", conn.proc, conn=conn.number)
        conn.gone = True

    def held(self, proc: str | None = None) -> list[Conn]:
        """The connections that wait for a release, of one process or of all."""
        return [c for c in self.connections if c.outcome is None and not c.gone and (proc is None or c.proc == proc)]

    def _log_request(
        self, conn: Conn, method: str, path: str, body: bytes, headers: Mapping[str, str], read: bool
    ) -> None:
        conn.parsed = self._contract.parse(method, path, body, headers)
        self._recorder.add(
            "wire",
            "request",
            conn.proc,
            conn=conn.number,
            read=read,
            method=method,
            path=path,
            marker=conn.parsed.marker,
            operation=conn.parsed.operation,
            problem=conn.parsed.problem,
            key=conn.parsed.key,
            digest=hashlib.sha256(body).hexdigest()[:16],
        )

    def _answer(self, conn: Conn, behaviour: Behaviour) -> None:
        parsed = conn.parsed or Parsed(None, None)
        if behaviour.answer in ("close", "reset"):
            self._meaning(conn, behaviour.effect)
            self._end(conn, Drop(reset=behaviour.answer == "reset"))
            return
        if behaviour.kind == "definite-refusal":
            reply = self._contract.refusal(parsed, behaviour.code)
        elif behaviour.kind == "status":
            reply = self._contract.indefinite(parsed, behaviour.status)
        elif behaviour.kind == "part-done":
            reply = _plain(200, b'{"effect":"part","steps":{"first":"done","second":"failed"}}')
        elif behaviour.kind == "malformed":
            reply = _plain(200, b'{"effect":')
        else:
            reply = self._contract.success(parsed, conn.request, behaviour.identity)
        if behaviour.answer == "cut":
            reply = Reply(reply.status, reply.body[: len(reply.body) // 2], len(reply.body))
        self._meaning(conn, behaviour.effect, reply.identity)
        self._end(conn, reply)

    def _meaning(self, conn: Conn, effect: str, identity: str | None = None) -> None:
        marker = conn.parsed.marker if conn.parsed else None
        members: dict[str, Any] = {"conn": conn.number, "marker": marker, "effect": effect, "identity": identity}
        self._recorder.add("suite", "meaning", conn.proc, **members)

    def _end(self, conn: Conn, outcome: Reply | Drop) -> None:
        conn.outcome = outcome
        how: str
        status: int | None
        if isinstance(outcome, Reply):
            how, status = ("answered" if outcome.complete else "cut"), outcome.status
        else:
            how, status = ("reset" if outcome.reset else "closed"), None
        self._recorder.add("wire", "response", conn.proc, conn=conn.number, how=how, status=status)


def plain_error(status: int) -> Reply:
    """A status with a body that claims nothing."""
    return _plain(status, b'{"error":"remote"}')


def _plain(status: int, body: bytes) -> Reply:
    return Reply(status, body, len(body))
