"""What the remote does with each request, as data: the behaviours of DESIGN section 5 and their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

#: behaviour -> (does the remote read the request, does the effect happen, how it is answered)
BEHAVIOURS: Final[dict[str, tuple[bool, str, str]]] = {
    "success": (True, "done", "reply"),
    "definite-refusal": (True, "none", "reply"),
    "status": (True, "unknown", "reply"),
    "malformed": (True, "unknown", "reply"),
    "partial": (True, "unknown", "cut"),
    "part-done": (True, "part", "reply"),
    "hold": (True, "pending", "hold"),
    "late": (True, "pending", "hold"),
    "hold-at-accept": (False, "none", "hold"),
    "refuse-connection": (False, "none", "reset"),
    "drop-before-read": (False, "none", "close"),
    "apply-then-drop": (True, "done", "close"),
}


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One scripted behaviour; ``status`` belongs to kind ``status``, ``code`` to ``definite-refusal``.

    ``identity`` belongs to ``success``: the id that the remote gives to what it made; None leaves it to the contract.
    """

    kind: str = "success"
    status: int = 500
    code: str = "not_allowed"
    identity: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in BEHAVIOURS:
            raise ValueError(f"behaviour {self.kind!r} is none of {sorted(BEHAVIOURS)}")

    @property
    def reads(self) -> bool:
        """Whether the remote reads the request at all."""
        return BEHAVIOURS[self.kind][0]

    @property
    def effect(self) -> str:
        """``done``, ``none``, ``part``, ``pending`` (decided on release) or ``unknown`` (the answer proves nothing)."""
        return BEHAVIOURS[self.kind][1]

    @property
    def answer(self) -> str:
        """``reply``, ``cut`` (fewer bytes than declared), ``hold``, ``reset`` or ``close``."""
        return BEHAVIOURS[self.kind][2]

    def to_json(self) -> dict[str, Any]:
        """The behaviour as a JSON object with only the members that its kind uses."""
        extra: dict[str, Any] = {}
        if self.kind == "status":
            extra["status"] = self.status
        elif self.kind == "definite-refusal":
            extra["code"] = self.code
        elif self.kind == "success" and self.identity is not None:
            extra["identity"] = self.identity
        return {"kind": self.kind, **extra}

    @staticmethod
    def from_json(obj: Mapping[str, Any]) -> Behaviour:
        """The inverse of :meth:`to_json`; raises ValueError for an unknown kind, TypeError for a wrong member."""
        return Behaviour(**obj)
