"""Bursts in their window, by the time that is stored and by that of their arrival."""

from __future__ import annotations

from conformance.checkers.settle.index import SLACK_MS, Birth, Index
from conformance.checkers.settle.stored import Lane, Stored, View


def burst(index: Index, view: View, lane: Lane, now: int, seq: int) -> list[Stored]:
    """The rows of a lane that are a burst whose window is certainly open at an event: several that wait for their first
    execution, whatever else of the lane waits beside them.
    """
    rows = [e for e in view.lane(lane) if e.state == "pending" and beside(index, e, seq) is None]
    if not index.settled(lane) or len(rows) < 2:
        return []
    born = {e.id: _ends(index, index.births[e.id]) for e in rows}
    # Another row of the lane may have been under way when one of these arrived, so the earliest end holds for all.
    earliest = min((end for end in born.values() if end is not None), default=0)
    ends = (max(e.not_before or 0, 0 if born[e.id] is None else earliest) for e in rows)
    return rows if all(end > now + SLACK_MS for end in ends) else []


def beside(index: Index, event: Stored, seq: int) -> str | None:
    """Why a pending row is none of a burst, though it waits in the lane of one: its first execution is over, or it came
    by a replay, for which the source leaves open whether there is a window. None where it may be one.
    """
    author = index.births[event.id].command
    if author is not None and author.cmd == "lane.replay":
        return "beside-replay"
    read = any(event.id in (a.input or ()) for a in index.attempts if a.claim.until < seq)
    return "beside-retry" if read or index.tried(event, seq) else None


def _ends(index: Index, birth: Birth) -> int | None:
    """When the window that a delivery brought a row into can end at the earliest, whatever time is stored on the row.

    That is one window from the delivery, or any time that was to come in the lane: which of those may be taken over is
    asked elsewhere. None where no delivery brought the row.
    """
    mine = birth.command
    if mine is None or mine.cmd != "lane.deliver":
        return None
    # The same delivery may be under way twice; whichever was sent first may be the one that is stored.
    twice = (c for c in index.commands if c.cmd == mine.cmd and c.args["delivery"] == mine.args["delivery"])
    sent = min(c.seq for c in twice if c.seq <= mine.seq <= c.until)
    now = index.now(birth.seq)
    times = (e.not_before for e in birth.before.lane(birth.event.lane) if e.not_before is not None)
    return min([index.now(sent) + index.window_ms, *(time for time in times if time > now)])
