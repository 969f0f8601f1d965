"""Every behaviour of the remote against a raw socket: what is logged, and what a client sees."""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conformance.remote.script import Behaviour
from conformance.remote.server import Endpoint
from tests.carriers.support import Stage

BODY = b'{"marker":"m1","input":{}}'
POST = b"POST /effect/thing HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


class Wire:
    """A raw client and the endpoint that it talks to, turned by hand."""

    def __init__(self, *behaviours: str) -> None:
        self.stage = Stage(*behaviours)
        self.endpoint = Endpoint(self.stage.remote, "w1")
        self.client = self.connect()

    def connect(self) -> socket.socket:
        host, port = self.endpoint.base_url.removeprefix("http://").split(":")
        return socket.create_connection((host, int(port)))

    def turn(self, times: int = 8) -> None:
        """Let the endpoint handle what is ready now; loopback needs no waiting."""
        for _ in range(times):
            poller = select.poll()
            for fd, events in self.endpoint.interests():
                poller.register(fd, events)
            for fd, _ in poller.poll(0):
                self.endpoint.handle(fd)

    def send(self, data: bytes = POST) -> None:
        self.client.sendall(data)
        self.turn()

    def received(self) -> bytes:
        """All bytes until the remote closed; raises ConnectionResetError when it was reset."""
        self.client.settimeout(10)
        data = b""
        while more := self.client.recv(65536):
            data += more
        return data


@contextmanager
def wire(*behaviours: str) -> Iterator[Wire]:
    made = Wire(*behaviours)
    try:
        yield made
    finally:
        made.client.close()
        made.endpoint.close()


def parts(answer: bytes) -> tuple[bytes, dict[bytes, bytes], bytes]:
    """Status line, headers by lower-case name, and body."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    return first, dict(line.lower().split(b": ", 1) for line in lines), body


@pytest.mark.parametrize(
    ("kind", "status", "body"),
    [
        ("success", b"HTTP/1.1 200 OK", {"effect": "done", "id": "t1", "marker": "m1"}),
        ("definite-refusal", b"HTTP/1.1 422 Unprocessable Entity", {"effect": "none", "code": "not_allowed"}),
        ("status", b"HTTP/1.1 500 Internal Server Error", {"effect": "none", "code": "not_allowed"}),
    ],
)
def test_whole_answers(kind: str, status: bytes, body: dict[str, str]) -> None:
    with wire(kind) as w:
        w.send()
        first, headers, said = parts(w.received())
        assert first == status
        assert headers[b"connection"] == b"close"
        assert int(headers[b"content-length"]) == len(said)
        assert body.items() <= json.loads(said).items()
        assert w.stage.story() == ["connection", "request", "meaning", "response"]
        assert w.endpoint.answered == 1
        assert not w.endpoint.under_way(True)


def test_malformed_is_a_whole_answer_that_is_no_json() -> None:
    with wire("malformed") as w:
        w.send()
        first, headers, said = parts(w.received())
        assert first == b"HTTP/1.1 200 OK"
        assert int(headers[b"content-length"]) == len(said)
        with pytest.raises(ValueError, match="Expecting"):
            json.loads(said)


def test_partial_declares_more_than_it_sends() -> None:
    with wire("partial") as w:
        w.send()
        _, headers, said = parts(w.received())
        assert 0 < len(said) < int(headers[b"content-length"])
        assert w.stage.events("response")[0].data["how"] == "cut"


def test_apply_then_drop_has_the_effect_and_says_nothing() -> None:
    with wire("apply-then-drop") as w:
        w.send()
        assert w.received() == b""
        assert w.stage.events("meaning")[0].data["effect"] == "done"


def test_drop_before_read_logs_what_was_sent_without_effect() -> None:
    with wire("drop-before-read") as w:
        w.send()
        assert w.received() == b""
        assert w.stage.story() == ["connection", "request", "response"]
        request = w.stage.events("request")[0].data
        assert (request["read"], request["marker"]) == (False, "m1")


def test_refuse_connection_resets_before_anything_is_read() -> None:
    with wire("refuse-connection") as w:
        w.turn()
        with pytest.raises(ConnectionResetError):
            w.received()
        assert w.stage.story() == ["connection", "response"]


def test_hold_answers_on_release() -> None:
    with wire("hold") as w:
        w.send()
        assert w.endpoint.holding(0)
        assert w.stage.story() == ["connection", "request"]
        [conn] = w.stage.remote.held("w1")
        w.stage.remote.release(conn, Behaviour("success"))
        assert parts(w.received())[0] == b"HTTP/1.1 200 OK"
        assert not w.endpoint.holding(0)


@pytest.mark.parametrize(("kind", "end"), [("apply-then-drop", None), ("refuse-connection", ConnectionResetError)])
def test_a_held_request_may_be_dropped_either_way(kind: str, end: type[OSError] | None) -> None:
    with wire("hold") as w:
        w.send()
        w.stage.remote.release(w.stage.remote.held("w1")[0], Behaviour(kind))
        if end is None:
            assert w.received() == b""
        else:
            with pytest.raises(end):
                w.received()


def test_hold_at_accept_logs_the_request_as_unread_and_resets_on_release() -> None:
    with wire("hold-at-accept") as w:
        w.turn()
        assert not w.endpoint.holding(0), "nothing has been sent yet, so the client may still be on its way"
        w.send()
        assert w.endpoint.holding(0)
        assert w.stage.events("request")[0].data["read"] is False
        assert w.stage.asked == []
        w.stage.remote.release(w.stage.remote.held("w1")[0], Behaviour("success"))
        with pytest.raises(ConnectionResetError):
            w.received()
        assert w.stage.events("meaning") == []


def test_late_is_held_until_the_suite_lets_it_go() -> None:
    with wire("late") as w:
        w.send()
        assert w.endpoint.holding(0)
        w.stage.remote.release(w.stage.remote.held("w1")[0], Behaviour())
        assert parts(w.received())[0] == b"HTTP/1.1 200 OK"


@pytest.mark.parametrize("kind", ["hold", "hold-at-accept"])
def test_a_client_that_closes_is_logged_as_gone(kind: str) -> None:
    with wire(kind) as w:
        w.send()
        w.client.close()
        w.turn()
        assert w.stage.story() == ["connection", "request", "abandoned"]
        assert not w.endpoint.holding(0)


def test_half_a_request_is_logged_as_sent_without_effect() -> None:
    with wire("success") as w:
        w.send(POST[:-5])
        assert w.endpoint.under_way(True)
        w.client.close()
        w.turn()
        assert w.stage.story() == ["connection", "request", "abandoned"]
        request = w.stage.events("request")[0].data
        assert (request["read"], request["path"], request["marker"]) == (False, "/effect/thing", None)
        assert w.stage.asked == []


def test_a_connection_without_a_byte_is_an_event_of_its_own() -> None:
    with wire() as w:
        w.turn()
        w.client.close()
        w.turn()
        assert w.stage.story() == ["connection", "abandoned"]


def test_what_a_killed_process_had_sent_is_still_read() -> None:
    with wire("hold") as w:
        w.send()
        second = w.connect()
        second.sendall(POST)
        w.client.close()
        second.close()
        w.endpoint.finish()
        assert w.stage.story() == [
            "connection", "request",  # the held one
            "connection",  # found in the backlog
            "abandoned",
            "request", "meaning", "response",  # a remote does not know that its client is dead
        ]  # fmt: skip
        assert w.endpoint.interests()[0][0] == -1


def test_a_request_in_chunks_and_single_bytes_is_one_request() -> None:
    chunked = (
        b"POST /effect/thing HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"".join(b"%x;note=1\r\n%s\r\n" % (len(part), part) for part in (BODY[:10], BODY[10:]))
        + b"0\r\nTrailer: x\r\n\r\n"
    )
    with wire("success") as w:
        for byte in chunked:
            w.client.send(bytes([byte]))
            w.turn(1)
        w.turn()
        assert w.stage.events("request")[0].data["marker"] == "m1"
        assert parts(w.received())[0] == b"HTTP/1.1 200 OK"


def test_a_client_that_asks_before_it_sends_its_body_is_told_to_go_on() -> None:
    with wire("success") as w:
        head, _, body = POST.partition(b"\r\n\r\n")
        w.send(head + b"\r\nExpect: 100-continue\r\n\r\n")
        assert w.client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        w.send(body)
        assert parts(w.received())[0] == b"HTTP/1.1 200 OK"


def test_a_client_that_asks_before_it_sends_its_body_can_be_held_at_accept() -> None:
    with wire("hold-at-accept") as w:
        w.send(POST.partition(b"\r\n\r\n")[0] + b"\r\nExpect: 100-continue\r\n\r\n")
        assert w.endpoint.holding(0)


@pytest.mark.parametrize(
    "garbage", [b"hello\n\n", b"GET /\r\n\r\n", b"POST /x HTTP/1.1\r\nContent-Length: ten\r\n\r\n", b"x" * 70_000]
)
def test_what_is_no_http_is_logged_without_a_marker(garbage: bytes) -> None:
    with wire("success") as w:
        w.send(garbage)
        [request] = w.stage.events("request")
        assert request.data["marker"] is None
        assert request.data["problem"]


def test_only_requests_of_this_command_count_as_held() -> None:
    with wire("hold", "hold") as w:
        w.endpoint.epoch = 1
        w.send()
        assert w.endpoint.holding(1)
        assert not w.endpoint.holding(2)
