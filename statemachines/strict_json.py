"""JSON as every reader sees it alike: no NaN, no member twice, and a sentence for whatever is wrong."""

from __future__ import annotations

import json
from typing import Any


class NotJson(ValueError):
    """The text is refused; the message says why, and where if that is known."""


def loads(text: str, *, unique: bool = True) -> Any:
    """The value of a JSON text; raises NotJson. ``unique`` False accepts members of one name, which is faster."""
    hook = _members if unique else None
    try:
        return json.loads(text, parse_constant=_constant, object_pairs_hook=hook)
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg.lower().removesuffix(' at')} at line {error.lineno}, column {error.colno}") from None
    except NotJson:
        raise
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except ValueError:
        # What is left is Python's limit of digits.
        raise NotJson("a number has more digits than anybody can use") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotJson(f"an object has the member {twice[:60]!r} twice")
    return members


def _constant(name: str) -> Any:
    raise NotJson(f"{name} is no JSON value")
