"""The kit's client tells a whole answer from everything else."""

from __future__ import annotations

import pytest

from conformance.kit.http_client import MAX_HEAD, AnswerParser, SocketExchange
from conformance.kit.remote import RemoteAnswer, RemoteUnknown, Request

WHOLE = b'HTTP/1.1 201 Created\r\nContent-Length: 7\r\n\r\n{"a":1}'


def outcome(data: bytes, size: int = 1) -> RemoteAnswer | str:
    """What the parser makes of these bytes, fed ``size`` at a time, and of the end after them."""
    parser = AnswerParser()
    for at in range(0, len(data), size):
        found = parser.feed(data[at : at + size])
        if found is not None:
            return found if isinstance(found, RemoteAnswer) else str(found)
    found = parser.end()
    return found if isinstance(found, RemoteAnswer) else str(found)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_whole_answer_in_any_pieces(size: int) -> None:
    assert outcome(WHOLE, size) == RemoteAnswer(201, b'{"a":1}')


def test_without_a_length_the_body_ends_with_the_connection() -> None:
    assert outcome(b"HTTP/1.1 200 OK\r\n\r\nabc") == RemoteAnswer(200, b"abc")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "closed"),
        (WHOLE[:-1], "partial"),
        (WHOLE[:20], "partial"),
        (b"SSH-2.0\r\n\r\n", "malformed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "malformed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "malformed"),
        (b"x" * (MAX_HEAD + 1), "malformed"),
    ],
)
def test_anything_less_is_unknown(data: bytes, why: str) -> None:
    assert outcome(data, 1000) == why


def test_an_address_that_is_not_http_is_refused() -> None:
    with pytest.raises(ValueError, match="no http://host:port address"):
        SocketExchange("inprocess://w1", Request("POST", "/x", b""), lambda _: None)


def test_nobody_listening_is_unknown_at_once_and_ends_once() -> None:
    ended: list[SocketExchange] = []
    exchange = SocketExchange("http://127.0.0.1:1", Request("POST", "/x", b""), ended.append)
    exchange.ready()
    exchange.abandon()
    assert isinstance(exchange.poll(), RemoteUnknown)
    assert str(exchange.poll()) == "refused"
    assert ended == [exchange]
