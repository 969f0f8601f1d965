"""Key reservations: atomic creation and one dispatch per key (REPLAY-007, REPLAY-012)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import Command, Connection
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS

ANCHOR = ("mutation_attempt", None, "Prepared")
RETENTION_MS = 86_400_000
#: A host's clock runs ahead of the suite's base by the ticks of its own reads.
TICKS_MS = 1_000
#: What is left, in ms, of a deadline or a retention that is said to be nearly over.
NEARLY_MS = 2_500


@CHECKERS.checker("REPLAY-007", "suite", "answer", "rows")
def reservation_and_attempt_appear_together(index: Index) -> Iterator[Finding]:
    """In no snapshot is there a keyed attempt that never had its reservation, nor a reservation without attempt.

    A row that came into being as Aborted was never prepared: the audit of a refusal needs no reservation. A driver
    that shows no reservations at all is not judged.
    """
    for fault in index.faults:
        if ANCHOR not in fault.changes or fault.command is None:
            continue
        if not fault.command.invokes or not fault.command.key:
            continue
        if fault.action == "crash":
            yield Met("crash-after-commit" if fault.point.endswith(":committed") else "crash-before-commit")
        elif fault.action == "lose-ack":
            yield Met(f"lost-{str(fault.world).replace('_', '-')}")
    reserved: set[str] = set()
    prints: dict[str, object] = {}
    seen: object = None
    for rows in index.rows:
        if rows.reservations is None or rows.reservations is seen:
            continue
        seen = rows.reservations
        reserved |= {r["attempt"] for r in rows.reservations.values()}
        for attempt, row in rows.attempts.items():
            if row.get("key") is not None and attempt not in reserved and not _never_prepared(index, attempt, row):
                yield _alone("attempt", attempt, rows.seq)
                return
        for reservation, row in rows.reservations.items():
            if row["attempt"] not in rows.attempts:
                yield _alone("reservation", reservation, rows.seq)
                return
            if prints.setdefault(reservation, row.get("fingerprint")) != row.get("fingerprint"):
                yield Violation(
                    f"reservation {reservation[-6:]} has its fingerprint from the moment it exists",
                    "the fingerprint was written later",
                    rows.seq,
                    "rows",
                )
                return


def _never_prepared(index: Index, attempt: str, row: Mapping[str, Any]) -> bool:
    first = next(iter(index.moves_of(attempt)), None)
    return (first.dest if first is not None else row.get("state")) == "Aborted"


def _alone(kind: str, name: str, seq: int) -> Violation:
    return Violation(
        "a keyed attempt and its reservation both durable, or neither",
        f"{kind} {name[-6:]} stands alone in the rows",
        seq,
        "rows",
    )


@CHECKERS.checker("REPLAY-012", "suite", "wire", "answer", "rows")
def exact_duplicates_dispatch_once(index: Index) -> Iterator[Finding]:
    """Of exact duplicates under one live key, only one invocation is ever seen at the remote.

    A key whose result is known lives for its retention by a trusted clock; one whose response was lost has no expiry.
    """
    for first in index.invocations:
        if not first.key:
            continue
        for second in index.during(first, frozenset({"host.invoke"})):
            cell = _duplicate(index, first, second) if second.subject == first.subject else None
            if cell is not None:
                yield Met(cell)
    senders: dict[tuple[str, str | None, str], Connection] = {}
    for connection in index.connections:
        command = connection.sender
        if command is None or not command.key:
            continue
        earlier = senders.get(command.subject)
        if earlier is not None and earlier.sender is not command and not _window_over(index, earlier, connection):
            first_id = earlier.sender.request_id if earlier.sender else ""
            yield Violation(
                f"one of the duplicates under key {command.key} at the remote",
                f"{first_id} and {command.request_id} both connected",
                connection.seq,
                "wire",
            )
        senders[command.subject] = connection


def _duplicate(index: Index, first: Command, second: Command) -> str | None:
    """Where the duplicate met the original: a request that the remote still has proves, without rows, that it pends."""
    if any(c.seq < second.seq < c.end_seq for c in index.connections_of(first)):
        return "while-pending"
    rows = index.rows_before(second.seq)
    if rows is None or rows.reservations is None:
        return None
    mine = set(index.attempts_of(first))
    held = [r for r in rows.reservations.values() if r.get("key") == first.key and r.get("state") != "Expired"]
    if any(r["attempt"] in mine and r.get("state") == "Pending" for r in held):
        return "while-pending"
    return None if held or any(rows.state(a) for a in mine) else "before-reservation"


def _window_over(index: Index, earlier: Connection, later: Connection) -> bool:
    """Whether by a trusted clock the retention of the earlier result was over when the later request went out.

    What expired by a trusted clock is free for good, whatever the clock shows or is worth afterwards.
    """
    if not _result_known(index, earlier, later):
        return False
    settled, command = index.clock_at(earlier.end_seq), later.command
    if settled is None:
        return False
    began = index.clock_at(command.seq if command else later.seq)
    since = earlier.end_seq if _given_up(index, earlier, later) else began.seq if began else 0
    return any(
        clock.trusted and clock.wall_ms + TICKS_MS - settled.wall_ms >= RETENTION_MS
        for clock in index.clocks
        if since <= clock.seq < later.seq
    )


def _given_up(index: Index, earlier: Connection, later: Connection) -> bool:
    """Whether no reservation of the earlier attempt lives when the later call begins; without rows nobody can say."""
    rows = index.rows_before(later.command.seq if later.command else later.seq)
    if rows is None or rows.reservations is None:
        return True
    mine = set(index.attempts_of(earlier.sender)) if earlier.sender else set()
    return not any(r["attempt"] in mine and r.get("state") != "Expired" for r in rows.reservations.values())


def _result_known(index: Index, earlier: Connection, later: Connection) -> bool:
    """Whether the ledger ever held a known result of the earlier attempt; without rows, whether the wire brought one.

    A ledger that takes for known what nobody could know, or overwrites it, is for others to name: here it only says
    which keys live.
    """
    attempts = index.attempts_of(earlier.sender) if earlier.sender else []
    if attempts:
        moves = (m for attempt in attempts for m in index.moves_of(attempt))
        return any(m.dest in ("Completed", "Failed", "Aborted") and m.seq < later.seq for m in moves)
    refused_unsent = index.readings.get("connect-failure-after-gate") == "failed-by-declared-evidence"
    return earlier.known or (refused_unsent and earlier.how == "reset")
