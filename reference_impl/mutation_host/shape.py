"""Whether an input has the shape that its operation describes: a small closed language, not JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_KINDS: Final[Mapping[str, type]] = {"text": str, "integer": int, "boolean": bool, "object": dict, "list": list}


def fits(value: Mapping[str, Any], shape: Mapping[str, Any] | None) -> bool:
    """Whether every required member is there, each has its kind, and none is unknown.

    Without a shape only the marker is asked for, by which the remote attributes the request.
    """
    if not isinstance(value.get("marker"), str):
        return False
    if shape is None:
        return True
    members: Mapping[str, str] = shape["members"]
    return (
        set(shape.get("required", ())) <= set(value)
        and set(value) <= {*members, "marker"}
        and all(_is(value[name], kind) for name, kind in members.items() if name in value)
    )


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool) and kind != "boolean":
        return False
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _KINDS[kind])
