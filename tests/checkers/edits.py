"""Edits of answers that the tests of approvals and admission share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.history import History
from tests.checkers.histories import Kinds, asked, attempt, changed, edit_rows, told, with_connection

Edit = Callable[[History], History]
#: requirement, schedule, edit: after it the requirement is named.
Mutant = tuple[str, str, Edit]


def code(request_id: str, wanted: str) -> Edit:
    """The caller is told another code."""
    return lambda h: _result(h, request_id, status="error", error={"code": wanted})


def message(text: str, *request_ids: str) -> Edit:
    """The errors of these calls have a message."""

    def edit(h: History) -> History:
        for request_id in request_ids:
            error = h.events[told(h, request_id)].data["result"]["error"]
            h = _result(h, request_id, error={**error, "message": text})
        return h

    return edit


def observed(request_id: str, **members: Any) -> Edit:
    """The mutation member of an answer says something else, or is there at all."""

    def edit(h: History) -> History:
        known = h.events[told(h, request_id)].data["result"].get("mutation") or {
            "classification": "not_attempted",
            "attempt": None,
            "original_request_id": None,
            "replayed": False,
            "cause": None,
        }
        return _result(h, request_id, mutation={**known, **members})

    return edit


def succeeds(request_id: str) -> Edit:
    """The caller is told of a success."""

    def edit(h: History) -> History:
        known = h.events[told(h, request_id)].data["result"]
        result = {name: value for name, value in known.items() if name != "error"}
        return changed(h, told(h, request_id), result={**result, "status": "success", "result": {}})

    return edit


def sent(request_id: str, marker: str = "m1") -> Edit:
    """A request goes out for the call."""
    return lambda h: with_connection(h, asked(h, request_id), h.events[asked(h, request_id)].proc, marker)


def spends(change: Callable[[list[Any]], list[Any]], since: Callable[[History], int]) -> Edit:
    """The rows of the spends are others from a place on."""

    def edit(h: History) -> History:
        def rows(kinds: Kinds) -> Kinds:
            return {**kinds, "spends": change(kinds["spends"])}

        return edit_rows(h, rows, since(h))

    return edit


def spend_of(request_id: str) -> Edit:
    """A spend is noted for the attempt of a call that needed none."""

    def edit(h: History) -> History:
        row = {"spend": "s", "issuer": "board", "reference": "ap9", "instance": "host-a", "state": "Spent"}
        row |= {"attempt": attempt(h, request_id), "spent_at": 0}
        return spends(lambda rows: [*rows, row], lambda h: told(h, request_id))(h)

    return edit


def _result(h: History, request_id: str, **members: Any) -> History:
    place = told(h, request_id)
    result = {**h.events[place].data["result"], **members}
    return changed(h, place, result=result)
