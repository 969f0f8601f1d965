"""The remote over loopback sockets: one listener per driver process, so that every connection has its process.

What is logged and answered is decided by :class:`Remote`; here are only sockets. Bytes are taken off the socket as they
come, whatever the script says: whether the remote has *read* a request is a matter of its mind, and a kill right after
the client's write finds the same bytes logged every time.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
from typing import Final

from conformance.remote.remote import Conn, Drop, Remote
from conformance.remote.request import RequestParser, answer

_CHUNK: Final = 256 * 1024
_BACKLOG: Final = 128
_LINGER_RST: Final = struct.pack("ii", 1, 0)
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class Wire:
    """One accepted connection: its socket, what was received, and what is still to be written."""

    def __init__(self, sock: socket.socket, conn: Conn, epoch: int) -> None:
        self.sock = sock
        self.conn = conn
        self.epoch = epoch
        self.parser = RequestParser()
        self.out = memoryview(b"")
        self.logged = False
        self.continued = False
        self.closed = False


class Endpoint:
    """The remote as one driver process reaches it.

    ``epoch`` is set by the owner to the number of the command under way: connections remember it. ``answered`` counts
    what went back to the process: after each answer it may have more to say.
    """

    def __init__(self, remote: Remote, proc: str) -> None:
        self._remote = remote
        self._proc = proc
        self._wires: dict[int, Wire] = {}
        self.epoch = 0
        self.answered = 0
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(_BACKLOG)
        self._listener.setblocking(False)
        self.base_url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def interests(self) -> list[tuple[int, int]]:
        """Every descriptor to watch, with its poll events."""
        found = [(self._listener.fileno(), select.POLLIN)]
        for fd, wire in self._wires.items():
            found.append((fd, select.POLLOUT if wire.out else select.POLLIN))
        return found

    def handle(self, fd: int) -> None:
        """Go on with a descriptor that is ready."""
        if fd == self._listener.fileno():
            self._accept()
            return
        wire = self._wires.get(fd)
        if wire is None:
            return
        if wire.out:
            self._flush(wire)
        else:
            self._receive(wire)

    def under_way(self, command_open: bool) -> bool:
        """Whether something that the process began here has not come to a point where the remote decides.

        Once its command is answered, a connection without a single byte is no business of that command.
        """
        return any(
            wire.out or (not self._waits_for_us(wire) and (command_open or wire.parser.started))
            for wire in self._wires.values()
        )

    def holding(self, epoch: int) -> bool:
        """Whether the remote holds a connection that was made since this epoch began."""
        return any(
            wire.epoch >= epoch and self._waits_for_us(wire) and wire.conn.outcome is None
            for wire in self._wires.values()
        )

    def finish(self) -> None:
        """The process is dead: log what it had sent, and whom it left waiting. Then stop listening."""
        while self._accept():
            pass
        for wire in list(self._wires.values()):
            while not wire.closed and not wire.out and self._receive(wire):
                pass
            if not wire.closed:
                self._give_up(wire)
        self.close()

    def close(self) -> None:
        """Close everything without a word in the history."""
        for wire in list(self._wires.values()):
            self._close(wire)
        self._listener.close()

    def _accept(self) -> bool:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return False
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        conn = self._remote.connect(self._proc)
        wire = Wire(sock, conn, self.epoch)
        self._wires[sock.fileno()] = wire
        if conn.outcome is not None:
            self._respond(wire)
        else:
            conn.wake = lambda: self._respond(wire)
        return True

    def _receive(self, wire: Wire) -> bool:
        """Take what is there; False when there is nothing more for now."""
        try:
            data = wire.sock.recv(_CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._give_up(wire)
            return False
        wire.parser.feed(data)
        if wire.parser.complete and not wire.logged:
            self._log(wire)
        elif wire.parser.expects_continue and not wire.continued and wire.conn.behaviour.kind != "hold-at-accept":
            wire.continued = True
            with contextlib.suppress(OSError):
                wire.sock.send(_CONTINUE)
        return True

    def _log(self, wire: Wire) -> None:
        wire.logged = True
        parser = wire.parser
        self._remote.receive(wire.conn, parser.method, parser.path, parser.body, parser.headers)
        if wire.conn.outcome is not None and not wire.closed:
            self._respond(wire)

    def _give_up(self, wire: Wire) -> None:
        """The client closed, or will never finish."""
        if not wire.logged and wire.parser.started:
            parser = wire.parser
            wire.logged = True
            self._remote.discard(wire.conn, parser.method, parser.path, parser.body, parser.headers)
        self._remote.lost(wire.conn)
        self._close(wire)

    def _respond(self, wire: Wire) -> None:
        outcome = wire.conn.outcome
        if wire.closed or outcome is None:
            return
        self.answered += 1
        if isinstance(outcome, Drop):
            if outcome.reset:
                wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RST)
            self._close(wire)
            return
        wire.out = memoryview(answer(outcome))
        self._flush(wire)

    def _flush(self, wire: Wire) -> None:
        try:
            wire.out = wire.out[wire.sock.send(wire.out) :]
        except BlockingIOError:
            return
        except OSError:
            wire.out = memoryview(b"")
        if not wire.out:
            self._close(wire)

    def _close(self, wire: Wire) -> None:
        if not wire.closed:
            wire.closed = True
            del self._wires[wire.sock.fileno()]
            wire.sock.close()

    @staticmethod
    def _waits_for_us(wire: Wire) -> bool:
        if wire.logged:
            return True
        return wire.conn.behaviour.kind == "hold-at-accept" and wire.parser.expects_continue
