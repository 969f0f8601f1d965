"""The process loop of a Python driver: one selector over stdin and the requests under way, no threads.

``serve`` is all that an implementer calls. ``serve_forking`` is the warm parent that the suite uses for fast starts.
"""

from __future__ import annotations

import contextlib
import gc
import os
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from typing import Final

from conformance.kit.engine import Engine, Implementation
from conformance.kit.http_client import SocketExchange
from conformance.kit.lines import MAX_LINE, BadLine, LineBuffer, decode, encode
from conformance.kit.remote import Exchange, Request

#: Exit status of a driver whose input was no protocol.
BAD_INPUT: Final = 2
_CHUNK: Final = 256 * 1024
_ORDER: Final = 64


class SocketTransport:
    """The wire of one process: requests over sockets that the process loop watches.

    ``before`` runs before each connection is made, so that what the process said earlier is also heard earlier.
    """

    def __init__(self, selector: selectors.BaseSelector, before: Callable[[], None]) -> None:
        self._selector = selector
        self._before = before

    def send(self, base_url: str, request: Request) -> Exchange:
        """Connect, write as much as goes at once, and return."""
        self._before()
        exchange = SocketExchange(base_url, request, self._forget)
        if exchange.wants:
            self._selector.register(exchange.sock, selectors.EVENT_WRITE, exchange)
            self.go_on(exchange)
        return exchange

    def go_on(self, exchange: SocketExchange) -> None:
        """Let a request use its socket, and watch for what it wants next."""
        before = exchange.wants
        exchange.ready()
        if exchange.wants == "r" and before != "r":
            self._selector.modify(exchange.sock, selectors.EVENT_READ, exchange)

    def _forget(self, exchange: SocketExchange) -> None:
        if exchange.sock in self._selector.get_map():
            self._selector.unregister(exchange.sock)


class ProcessLoop:
    """One driver process between two file descriptors."""

    def __init__(self, implementation: Implementation, stdin: int, stdout: int) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._selector = selectors.DefaultSelector()
        self._selector.register(stdin, selectors.EVENT_READ, None)
        self._transport = SocketTransport(self._selector, self.flush)
        self._engine = Engine(implementation, self._transport)
        self._lines = LineBuffer()

    def run(self) -> int:
        """Serve until ``bye``, the end of stdin, or a line that is no protocol; returns the exit status."""
        while not self._engine.closed:
            for key, _ in self._selector.select():
                if key.data is None:
                    status = self._take_input()
                    if status is not None:
                        return status
                else:
                    self._transport.go_on(key.data)
                    if key.data.poll() is not None:
                        self._engine.poke()
                        self.flush()
        return 0

    def flush(self) -> None:
        """Write what the engine has to say."""
        outbox = self._engine.outbox
        while outbox:
            message = outbox.popleft()
            try:
                line = encode(message)
                problem = f"the line has {len(line)} bytes" if len(line) > MAX_LINE + 1 else None
            except (TypeError, ValueError) as error:
                problem = str(error)
            if problem is not None:
                line = encode({"id": message.get("id"), "outcome": "failed", "detail": f"unsayable answer: {problem}"})
            view = memoryview(line)
            while view:
                view = view[os.write(self._stdout, view) :]

    def _take_input(self) -> int | None:
        data = os.read(self._stdin, _CHUNK)
        if not data:
            if self._lines.rest:
                return _refuse(BadLine("stdin ended in the middle of a line", bytes(self._lines.rest)))
            return 0
        try:
            for line in self._lines.feed(data):
                self._engine.deliver(decode(line))
                self.flush()
        except BadLine as bad:
            return _refuse(bad)
        return None


def serve(make: Callable[[], Implementation]) -> int:
    """Speak the driver protocol on stdin and stdout until the suite is done; returns the exit status.

    Stdout is kept for the protocol: whatever else the process prints goes to stderr. 2 means that a line of input was
    refused, with the reason on stderr.
    """
    stdin, stdout = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        return ProcessLoop(make(), stdin, stdout).run()
    except BrokenPipeError:
        # The suite is gone, and with it everybody who could read an answer.
        return 0


def serve_forking(make: Callable[[], Implementation], socket_fd: int) -> int:
    """A warm parent: everything is imported and built once, then each driver process is a fork of it.

    Orders are lines on a Unix stream socket, one at a time: ``start`` with three descriptors (the child's stdin, stdout
    and stderr) is answered with the child's pid; ``end <pid>`` kills the child's process group, waits for it and is
    answered with its wait status. The parent says ``ready`` first. When the socket closes, all children are killed.
    """
    warm = getattr(make(), "warm", None)
    if warm is not None:
        warm()
    gc.collect()
    gc.freeze()
    children: set[int] = set()
    with socket.socket(fileno=socket_fd) as orders:
        orders.sendall(b"ready\n")
        try:
            while True:
                data, fds, _, _ = socket.recv_fds(orders, _ORDER, 3)
                if not data:
                    return 0
                verb, *words = data.decode().split()
                if verb == "start":
                    pid = os.fork()
                    if pid == 0:
                        orders.close()
                        _become_driver(make, fds)
                    children.add(pid)
                    for fd in fds:
                        os.close(fd)
                    orders.sendall(b"%d\n" % pid)
                else:
                    pid = int(words[0])
                    children.discard(pid)
                    orders.sendall(b"%d\n" % _end(pid))
        finally:
            for pid in children:
                _end(pid)


def _become_driver(make: Callable[[], Implementation], fds: list[int]) -> None:
    """The child's life: its own process group, its own standard streams, and never a return."""
    status = 1
    try:
        os.setsid()
        for target, fd in enumerate(fds):
            os.dup2(fd, target)
            os.close(fd)
        status = serve(make)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def _end(pid: int) -> int:
    """Kill a child's group and wait for it; returns its wait status, that of a killed one if it is not a child."""
    # The leader is not reaped yet, so neither its id nor its group can have gone to anybody else. Both are tried: a
    # child that was forked this moment may not have a group of its own yet.
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(OSError):
            kill(pid, signal.SIGKILL)
    try:
        return os.waitpid(pid, 0)[1]
    except ChildProcessError:
        return signal.SIGKILL


def _refuse(bad: BadLine) -> int:
    line = bad.line.decode("utf-8", "replace")
    sys.stderr.write(f"driver: refused a line of input: {bad.reason}: {line!r}; send one JSON object per line\n")
    sys.stderr.flush()
    return BAD_INPUT
