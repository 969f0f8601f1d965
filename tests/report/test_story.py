"""What a story says of rows: few letters, and enough of them to tell one row from another."""

from __future__ import annotations

import pytest

from conformance.history import Event
from conformance.report.story import steps


@pytest.mark.parametrize(
    ("identity", "shown"),
    [
        ("e67c0400-4a2f-5276-0000-000000000001", "attempt 000001 Prepared"),
        ("attempt-12", "attempt attempt-12 Prepared"),
        ('["board", "ap1"]', "attempt board ap1 Prepared"),
        ('["not json', 'attempt ["not json Prepared'),
        ("\x1b[2Jq", "attempt \\x1b[2Jq Prepared"),
    ],
)
def test_a_row_is_called_by_the_end_of_a_long_id_and_by_the_whole_of_a_short_one(identity: str, shown: str) -> None:
    look = {"why": "end", "kinds": {"attempts": [{"attempt": identity, "state": "Prepared"}]}}
    [step] = steps((Event(0, "rows", "rows", "", look),))
    assert step.ledger == [shown]
