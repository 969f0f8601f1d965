"""The clock port: virtual time that ticks one millisecond at each read (DESIGN section 2.8)."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.kit.seam import Seam


@dataclass(frozen=True, slots=True)
class Time:
    """One reading: wall time and elapsed time in ms, and whether the wall offset is attested."""

    wall_ms: int
    mono_ms: int
    trusted: bool


class ClockPort:
    """The time of one process: the base that the suite set plus the ticks of this process."""

    def __init__(self, seam: Seam, base: Time) -> None:
        self._seam = seam
        self._base = base
        self._ticks = 0

    def now(self, step: str) -> Time:
        """Read the clock as part of ``step``; two reads are never equal."""
        self._seam.reach(step, "clock")
        self._ticks += 1
        return self.peek()

    def peek(self) -> Time:
        """The current reading without a tick: for the kit's own timeouts."""
        base = self._base
        return Time(base.wall_ms + self._ticks, base.mono_ms + self._ticks, base.trusted)

    def set(self, base: Time) -> None:
        """Take a new base; elapsed time never goes back, while wall time may."""
        elapsed = self._base.mono_ms + self._ticks
        if base.mono_ms >= elapsed:
            self._base, self._ticks = base, 0
        else:
            mono = self._base.mono_ms
            self._base = Time(base.wall_ms, mono, base.trusted)
