"""One HTTP request over a non-blocking socket, no retries: an answer, or an honest statement that there is none."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from conformance.kit.remote import RemoteAnswer, RemoteUnknown, Request

#: Bounds of what is taken from a remote, in bytes.
MAX_HEAD: Final = 64 * 1024
MAX_BODY: Final = 16 * 1024 * 1024
_CHUNK: Final = 256 * 1024
_UNDER_WAY: Final = frozenset({0, errno.EINPROGRESS, errno.EWOULDBLOCK})

Outcome = RemoteAnswer | RemoteUnknown


class AnswerParser:
    """An HTTP/1.1 answer as its bytes come in. Without a length the body ends with the connection."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._status = 0
        self._body_at = 0
        self._length: int | None = None

    def feed(self, data: bytes) -> Outcome | None:
        """Take bytes; the outcome when the answer is complete or cannot become one."""
        self._bytes += data
        if not self._body_at:
            end = self._bytes.find(b"\r\n\r\n")
            if end < 0:
                return RemoteUnknown("malformed") if len(self._bytes) > MAX_HEAD else None
            if not self._read_head(bytes(self._bytes[:end])):
                return RemoteUnknown("malformed")
            self._body_at = end + 4
        size = len(self._bytes) - self._body_at
        if size > MAX_BODY:
            return RemoteUnknown("malformed")
        if self._length is not None and size >= self._length:
            return self._answer(self._length)
        return None

    def end(self) -> Outcome:
        """The other side closed: what that makes of the bytes so far."""
        if not self._bytes:
            return RemoteUnknown("closed")
        if not self._body_at or self._length is not None:
            return RemoteUnknown("partial")
        return self._answer(len(self._bytes) - self._body_at)

    def _answer(self, length: int) -> RemoteAnswer:
        return RemoteAnswer(self._status, bytes(self._bytes[self._body_at : self._body_at + length]))

    def _read_head(self, head: bytes) -> bool:
        lines = head.decode("latin-1").split("\r\n")
        parts = lines[0].split(" ", 2)
        if len(parts) < 2 or not parts[0].startswith("HTTP/1.") or not parts[1].isdecimal():
            return False
        self._status = int(parts[1])
        for line in lines[1:]:
            name, _, value = line.partition(":")
            name, value = name.strip().lower(), value.strip()
            if name == "transfer-encoding":
                return False
            if name == "content-length":
                if not value.isdecimal():
                    return False
                self._length = int(value)
        return True


class SocketExchange:
    """One request under way: connected, written and read as far as the socket goes, never blocking.

    ``ready`` is called when the socket can go on; ``wants`` says for what it waits: ``"w"``, ``"r"`` or ``""``.
    """

    def __init__(self, base_url: str, request: Request, on_end: Callable[[SocketExchange], None]) -> None:
        host, port, prefix = _address(base_url)
        own = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        head = (
            f"{request.method} {prefix}{request.path} HTTP/1.1\r\nHost: {host}:{port}\r\n{own}"
            f"Content-Type: application/json\r\nContent-Length: {len(request.body)}\r\nConnection: close\r\n\r\n"
        )
        self._out = memoryview(head.encode("latin-1") + request.body)
        self._parser = AnswerParser()
        self._on_end = on_end
        self._outcome: Outcome | None = None
        self.wants = "w"
        self.sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        self.sock.setblocking(False)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        problem = self.sock.connect_ex((host, port))
        if problem not in _UNDER_WAY:
            self._finish(_unknown(problem))

    def poll(self) -> Outcome | None:
        """The outcome, or None while there is none."""
        return self._outcome

    def abandon(self) -> None:
        """Close the connection without an answer."""
        if self._outcome is None:
            self._finish(RemoteUnknown("abandoned"))

    def ready(self) -> None:
        """Go on as far as the socket allows."""
        try:
            if self.wants == "w":
                self._write()
            if self.wants == "r":
                self._read()
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._finish(_unknown(error.errno or 0))

    def _write(self) -> None:
        problem = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if problem:
            self._finish(_unknown(problem))
            return
        while self._out:
            self._out = self._out[self.sock.send(self._out) :]
        self.wants = "r"

    def _read(self) -> None:
        while self._outcome is None:
            data = self.sock.recv(_CHUNK)
            outcome = self._parser.feed(data) if data else self._parser.end()
            if outcome is not None:
                self._finish(outcome)

    def _finish(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._on_end(self)
        self.wants = ""
        self.sock.close()


def _address(base_url: str) -> tuple[str, int, str]:
    """Host, port and path prefix of a plain http URL; raises ValueError for any other."""
    parts = urlsplit(base_url)
    if parts.scheme != "http" or not parts.hostname:
        raise ValueError(f"remote {base_url!r} is no http://host:port address")
    return parts.hostname, parts.port or 80, parts.path.rstrip("/")


def _unknown(problem: int) -> RemoteUnknown:
    if problem == errno.ECONNREFUSED:
        return RemoteUnknown("refused")
    if problem in (errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED):
        return RemoteUnknown("reset")
    return RemoteUnknown(errno.errorcode.get(problem, "closed"))
