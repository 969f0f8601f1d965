"""What the doctor found, as data: rendered by the command line, compared by tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from conformance.drivers import Identity

FORMAT: Final = 1
RUNGS: Final = ("L0", "L1", "L2")
#: The statuses of a check: nothing to say, something to mend, could not be tried, and why.
OK: Final = "ok"
MEND: Final = "mend"
NOT_TRIED: Final = "not tried"


@dataclass(frozen=True, slots=True)
class Checked:
    """One check: what it is about, at which rung, how it ended, sentences to act on, and remarks that are no fault.

    ``family`` is empty for what concerns the driver as a whole.
    """

    id: str
    title: str
    family: str
    rung: str
    status: str
    mend: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The check as a JSON object."""
        return {
            "id": self.id,
            "title": self.title,
            "family": self.family or None,
            "rung": self.rung,
            "status": self.status,
            "mend": list(self.mend),
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The whole examination. ``identity`` is None when the driver did not say who it is.

    ``lift`` says, in sentences, what would bring a driver that is fit to a higher rung.
    """

    driver: str
    identity: Identity | None
    checks: tuple[Checked, ...]
    lift: tuple[str, ...] = ()

    @property
    def speaks(self) -> bool:
        """Whether the driver could be talked to at all."""
        return self.identity is not None

    @property
    def reached(self) -> str | None:
        """The highest rung at which, and below which, there is nothing to mend; None when L0 is not reached."""
        if self.identity is None:
            return None
        reached = None
        for rung in RUNGS[: RUNGS.index(self.identity.rung) + 1]:
            if any(c.status != OK for c in self.checks if c.rung == rung):
                break
            reached = rung
        return reached

    @property
    def fit(self) -> bool:
        """Whether the driver reaches the rung that it declares."""
        return self.identity is not None and self.reached == self.identity.rung

    @property
    def exit(self) -> int:
        """The exit code: 0 fit, 1 something to mend, 3 it does not speak."""
        if not self.speaks:
            return 3
        return 0 if self.fit else 1

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {
            "format": FORMAT,
            "driver": self.driver,
            "identity": None if self.identity is None else self.identity.to_json(),
            "fit": self.fit,
            "declared": None if self.identity is None else self.identity.rung,
            "reached": self.reached,
            "checks": [c.to_json() for c in self.checks],
            "lift": list(self.lift),
        }
