"""Dates of rows as text that compares like the instants themselves.

Stores keep more digits than `datetime` does (some count 100 ns), and a digit dropped here would change the
order of a lane. So the fraction is kept as text, filled up to nine digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

_FRACTION = re.compile(r"(?P<head>.*\d{2}:?\d{2}:?\d{2})[.,](?P<digits>\d+)(?P<zone>.*)")
_DATE = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<digits>\d+))?(?P<zone>Z|[+-][\d:]+)?"
)


def parse_instant(text: str) -> tuple[str, str]:
    """The instant as `YYYY-MM-DDThh:mm:ss.nnnnnnnnn` and zone, and the zone alone ("" for none).

    Takes ISO 8601 with up to nine digits of a second. Two results of one zone compare like their instants.
    Raises `ValueError` for anything else.
    """
    digits = ""
    with_fraction = _FRACTION.fullmatch(text)
    if with_fraction is not None:
        head, digits, zone = with_fraction.group("head", "digits", "zone")
        text = head + zone
    if len(digits) > 9:
        raise ValueError("more than nine digits of a second")
    moment = datetime.fromisoformat(text)
    clock = moment.replace(tzinfo=None).isoformat(timespec="seconds")
    zone = moment.isoformat()[len(clock) :]
    zone = "Z" if zone == "+00:00" else zone
    return f"{clock}.{digits:0<9}{zone}", zone


def short_labels(instants: Iterable[object]) -> list[str]:
    """Short labels that still tell the instants apart: no common day, no zone, no needless zeros."""
    texts = [str(instant) for instant in instants]
    found = [_DATE.fullmatch(text) for text in texts]
    parts = [match for match in found if match is not None]
    if len(parts) < len(texts) or len({part["zone"] for part in parts}) != 1:
        return texts
    fractions = [(part["digits"] or "").rstrip("0") for part in parts]
    digits = max(map(len, fractions))
    one_day = len({part["day"] for part in parts}) == 1
    return [
        ("" if one_day else part["day"] + " ") + part["clock"] + (f".{fraction:0<{digits}}" if digits else "")
        for part, fraction in zip(parts, fractions, strict=True)
    ]
