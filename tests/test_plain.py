"""What others wrote may be shown in a terminal, never obeyed by it."""

from __future__ import annotations

import unicodedata

import pytest

from statemachines.plain import indented, plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ← text, ä, 漢", "plain ← text, ä, 漢"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\nFAIL  forged", "a\\nFAIL  forged"),
        ("a\rb\tc", "a\\rb\\tc"),
        ("\x07\x08\x7f\x9b", "\\x07\\x08\\x7f\\x9b"),
        ("abc\u202edcba", "abc\\u202edcba"),
        ("line\u2028break", "line\\u2028break"),
        ("half \ud83d", "half \\ud83d"),
        (7, "7"),
    ],
)
def test_control_characters_are_spelled_out(text: object, shown: str) -> None:
    assert plain(text) == shown


def test_no_control_character_of_the_first_planes_gets_through() -> None:
    every = "".join(chr(code) for code in range(0x3000))
    left = {unicodedata.category(c) for c in plain(every)}
    assert not left & {"Cc", "Zl", "Zp", "Cs"}


def test_a_page_keeps_its_line_breaks_and_nothing_else() -> None:
    assert plain("one\ntwo\x1b[2J\r\n", lines=True) == "one\ntwo\\x1b[2J\\r\n"


def test_lines_of_others_are_indented_below_the_first() -> None:
    assert indented("it ended\nconformant: all\r\n") == ["it ended", "    conformant: all\\r", "    "]


def test_what_went_through_twice_is_the_same() -> None:
    once = plain("\x1b]0;title\x07")
    assert plain(once) == once
