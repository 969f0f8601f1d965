"""What becomes of an attempt whose request may have worked and has left no id (ATT-043)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.push.index import Index, attempts
from conformance.checkers.push.registry import CHECKERS
from conformance.checkers.timeline import Connection

_LOST = {"closed": "dropped", "reset": "reset", "cut": "partial"}


@CHECKERS.checker("ATT-043", "suite", "wire", "answer", "rows")
def what_nobody_knows_is_ambiguous(index: Index) -> Iterator[Finding]:
    """Without a contract an attempt whose answer is lost or holds no id is ambiguous, neither failed nor on its way.

    Which statuses below 500 are definite is the profile's to declare, and what an undeclared one means is open.
    """
    for record, connections in index.by_record.items():
        for connection in connections:
            command, how = connection.command, _how(connection)
            if how is None or command is None or command.outcome != "done" or index.contract_at(connection):
                continue
            others = any(connection.seq < c.seq < command.until for c in index.commands)
            struck = any(f.command is command and f.action != "pause" for f in index.faults)
            after = index.look_after(command.until)
            # Where nothing of a request was read, the answer is the first that shows the rows again.
            newest = attempts(after, record)[-1:]
            if others or struck or after is None or not newest or newest[0]["io_started_at"] is None:
                continue
            yield Met(how)
            if newest[0]["state"] != "ambiguous_remote_effect":
                yield Violation(
                    f"attempt {newest[0]['attempt'][-6:]} ambiguous_remote_effect: nobody knows what its request did",
                    f"it is {newest[0]['state']}",
                    after.seq,
                    "rows",
                )


def _how(connection: Connection) -> str | None:
    """How the outcome of a request came to be unknown to its sender, or None."""
    if connection.how in _LOST:
        return _LOST[connection.how]
    if connection.how != "answered" or connection.effect != "unknown" or connection.status is None:
        return None
    if connection.status >= 500:
        return "status"
    return "malformed" if 200 <= connection.status < 300 else None
