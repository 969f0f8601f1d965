"""The orderly end of a driver process: `bye`, its answer, and its exit."""

from __future__ import annotations

from conformance.carriers.base import Link


def farewell(link: Link, number: int, actor: str, patience_ms: int) -> str:
    """Send ``bye`` under this id and wait for the process to end; return what was wrong with its end, or nothing.

    Whatever it does, it has ended afterwards. ``patience_ms`` (real time) is how long it may take after its answer.
    Raises DriverProblem for a process that broke the protocol instead of answering.
    """
    link.send({"v": 1, "id": number, "cmd": "bye", "actor": actor, "args": {}, "deadline_ms": 10_000})
    while (reply := link.recv()) is not None and reply.get("id") != number:
        pass
    outcome = None if reply is None else reply.get("outcome")
    how = link.departed(patience_ms)
    if outcome != "done":
        return f"process {actor!r} answered bye with {outcome or 'nothing'}; answer done with {{}}, then exit with 0"
    return f"process {actor!r} answered bye and {how}; exit with 0 after that answer" if how else ""
