"""Lines of the protocol: cut, bounded, decoded."""

from __future__ import annotations

import pytest

from conformance.kit.lines import MAX_INT, BadLine, LineBuffer, decode, encode


def test_lines_come_out_whole_however_they_arrive() -> None:
    buffer = LineBuffer()
    pieces = [b"a", b"b\nc", b"\n\nd"]
    assert [line for piece in pieces for line in buffer.feed(piece)] == [b"ab", b"c", b""]
    assert bytes(buffer.rest) == b"d"


@pytest.mark.parametrize("pieces", [[b"12345\n"], [b"123", b"45"], [b"ok\n12345"]])
def test_a_line_that_grows_too_long_is_refused_without_waiting_for_its_end(pieces: list[bytes]) -> None:
    buffer = LineBuffer(limit=4)
    with pytest.raises(BadLine, match="longer than 4 bytes"):
        [line for piece in pieces for line in buffer.feed(piece)]


def test_a_line_of_exactly_the_limit_passes() -> None:
    assert list(LineBuffer(limit=4).feed(b"1234\n")) == [b"1234"]


def test_what_is_encoded_comes_back() -> None:
    message = {"id": MAX_INT, "text": "ü\n", "digits": "12345678901234567890", "low": -MAX_INT}
    line = encode(message)
    assert line.count(b"\n") == 1
    assert decode(line[:-1]) == message


def test_nothing_that_json_lacks_is_encoded() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        encode({"at": float("inf")})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "not JSON"),
        (b"7", "not an object"),
        (b'{"a":Infinity}', "Infinity is no JSON value"),
        (b'{"a":9007199254740993}', "beyond 2^53"),
        (b'{"a":' + b"9" * 5000 + b"}", "beyond 2^53"),
        (b"\xff", "not UTF-8 at byte 0"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_bad_lines_say_why(line: bytes, reason: str) -> None:
    with pytest.raises(BadLine) as bad:
        decode(line)
    assert reason in bad.value.reason
    assert len(bad.value.line) <= 400
