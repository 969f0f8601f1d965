"""HTTP/1.1 requests as their bytes come in, and answers as bytes that go out. No sockets here."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from conformance.remote.remote import Reply

#: The most bytes that the remote takes of one request.
MAX_REQUEST: Final = 16 * 1024 * 1024
_MAX_HEAD: Final = 64 * 1024
_MAX_CHUNK_LINE: Final = 1024


class RequestParser:
    """One request. After ``complete`` the members hold it; before, what there is of it so far."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._at = 0
        self._length: int | None = None
        self._chunked = False
        self._body = bytearray()
        self.method = ""
        self.path = ""
        #: Headers by lower-case name; of one that comes twice, the last.
        self.headers: dict[str, str] = {}
        self.complete = False
        #: Why this is no HTTP request; such a one counts as complete.
        self.problem: str | None = None
        #: The client waits for ``100 Continue`` before it sends its body.
        self.expects_continue = False

    @property
    def started(self) -> bool:
        """Whether any byte has arrived."""
        return bool(self._bytes)

    @property
    def body(self) -> bytes:
        """The body, decoded from its chunks; of a request that is no HTTP, all of its bytes."""
        if self._chunked:
            return bytes(self._body)
        if self.problem is not None or not self._at:
            return bytes(self._bytes)
        end = len(self._bytes) if self._length is None else self._at + self._length
        return bytes(self._bytes[self._at : end])

    def feed(self, data: bytes) -> None:
        """Take bytes; what follows a complete request is ignored."""
        if self.complete:
            return
        self._bytes += data
        if len(self._bytes) > MAX_REQUEST:
            self._fail(f"the request is longer than {MAX_REQUEST} bytes")
            return
        if not self._at and not self._take_head():
            return
        if self._chunked:
            self._take_chunks()
        else:
            self.complete = self.complete or len(self._bytes) - self._at >= (self._length or 0)

    def _take_head(self) -> bool:
        end = self._bytes.find(b"\r\n\r\n")
        if end < 0:
            if len(self._bytes) > _MAX_HEAD or (len(self._bytes) > 2 and b"\n\n" in self._bytes[:_MAX_HEAD]):
                self._fail("the head is no HTTP/1.1 request head")
            return False
        lines = self._bytes[:end].decode("latin-1").split("\r\n")
        words = lines[0].split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            self._fail(f"the first line {lines[0][:80]!r} is no HTTP/1.1 request line")
            return False
        self.method, self.path = words[0], words[1]
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self._take_header(name.strip().lower(), value.strip())
        self._at = end + 4
        return self.problem is None

    def _take_header(self, name: str, value: str) -> None:
        self.headers[name] = value
        if name == "content-length":
            if not value.isdecimal() or self._length not in (None, int(value)):
                self._fail(f"the content length {value[:40]!r} is no number, or one of two")
                return
            self._length = int(value)
        elif name == "transfer-encoding":
            self._chunked = value.lower() == "chunked"
            if not self._chunked:
                self._fail(f"the transfer encoding {value[:40]!r} is not chunked")
        elif name == "expect":
            self.expects_continue = value.lower() == "100-continue"

    def _take_chunks(self) -> None:
        while True:
            end = self._bytes.find(b"\r\n", self._at)
            if end < 0:
                if len(self._bytes) - self._at > _MAX_CHUNK_LINE:
                    self._fail("a chunk has no size line")
                return
            size_text = bytes(self._bytes[self._at : end]).partition(b";")[0].strip()
            try:
                size = int(size_text, 16)
            except ValueError:
                self._fail(f"the chunk size {size_text[:40]!r} is no number")
                return
            if size == 0:
                # Trailers, if any, end with an empty line.
                self.complete = self._bytes.find(b"\r\n\r\n", end) >= 0
                return
            if len(self._bytes) < end + 2 + size + 2:
                return
            self._body += self._bytes[end + 2 : end + 2 + size]
            self._at = end + 2 + size + 2

    def _fail(self, problem: str) -> None:
        self.problem = problem
        self.complete = True


def answer(reply: Reply) -> bytes:
    """The bytes of one answer; a reply with fewer bytes than it declares goes out just so."""
    try:
        phrase = HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = "Status"
    head = (
        f"HTTP/1.1 {reply.status} {phrase}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {reply.declared}\r\nConnection: close\r\n\r\n"
    )
    return head.encode("ascii") + reply.body
