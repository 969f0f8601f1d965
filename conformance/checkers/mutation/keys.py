"""Key reservations: atomic creation, one dispatch per key, retirement by generation.

REPLAY-007, REPLAY-012, RET-018.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.index import Command, Index
from conformance.checkers.mutation.registry import CHECKERS

ANCHOR = ("mutation_attempt", None, "Prepared")
RETENTION_MS = 86_400_000


@CHECKERS.checker("REPLAY-007", "suite", "rows")
def reservation_and_attempt_appear_together(index: Index) -> Iterator[Finding]:
    """In no snapshot is there a keyed attempt that never had its reservation, nor a reservation without attempt."""
    for fault in index.faults:
        if ANCHOR not in fault.changes or fault.command is None or not fault.command.request.get("idempotency_key"):
            continue
        if fault.action == "crash":
            yield Met("crash-after-commit" if fault.point.endswith(":committed") else "crash-before-commit")
        elif fault.action == "lose-ack":
            yield Met(f"lost-{str(fault.world).replace('_', '-')}")
    reserved: set[str] = set()
    prints: dict[str, object] = {}
    for rows in index.rows:
        reserved |= {r["attempt"] for r in rows.reservations.values()}
        for attempt, row in rows.attempts.items():
            if row["key"] is not None and attempt not in reserved:
                yield _alone("attempt", attempt, rows.seq)
                return
        for reservation, row in rows.reservations.items():
            if row["attempt"] not in rows.attempts:
                yield _alone("reservation", reservation, rows.seq)
                return
            if prints.setdefault(reservation, row["fingerprint"]) != row["fingerprint"]:
                yield Violation(
                    f"reservation {reservation[-6:]} has its fingerprint from the moment it exists",
                    "the fingerprint was written later",
                    rows.seq,
                    "rows",
                )
                return


def _alone(kind: str, name: str, seq: int) -> Violation:
    return Violation(
        "a keyed attempt and its reservation both durable, or neither",
        f"{kind} {name[-6:]} stands alone in the rows",
        seq,
        "rows",
    )


@CHECKERS.checker("REPLAY-012", "suite", "wire", "rows")
def exact_duplicates_dispatch_once(index: Index) -> Iterator[Finding]:
    """Of exact duplicates under one live key, only one invocation is ever seen at the remote."""
    keyed = [c for c in index.invocations if c.request.get("idempotency_key")]
    for first in keyed:
        for second in index.during(first, frozenset({"host.invoke"})):
            if second.subject == first.subject:
                rows = index.rows_before(second.seq)
                held = rows is not None and any(
                    r["key"] == first.request["idempotency_key"] and r["state"] == "Pending"
                    for r in rows.reservations.values()
                )
                yield Met("while-pending" if held else "before-reservation")
    senders: dict[tuple[str, str | None, str], Command] = {}
    for connection in index.connections:
        command = connection.command
        if command is None or command not in keyed:
            continue
        earlier = senders.get(command.subject)
        if earlier is not None and earlier is not command and not _window_over(index, earlier, command):
            yield Violation(
                f"one of the duplicates under key {command.request['idempotency_key']} at the remote",
                f"{earlier.request['request_id']} and {command.request['request_id']} both connected",
                connection.seq,
                "wire",
            )
        senders[command.subject] = command


def _window_over(index: Index, earlier: Command, later: Command) -> bool:
    """Whether by a trusted clock the retention of the earlier result was over when the later call was made."""
    if later.wall_ms - earlier.wall_ms < RETENTION_MS:
        return False
    return next((trusted for seq, _, trusted in reversed(index.times) if seq < later.until), True)


@CHECKERS.checker("RET-018", "suite", "rows")
def retirement_is_by_generation(index: Index) -> Iterator[Finding]:
    """A replacement generation is not retired by someone who meant its predecessor."""
    born: dict[str, int] = {}
    first_of: dict[tuple[str, str], str] = {}
    gone: set[str] = set()
    wall = {seq: ms for seq, ms, _ in index.times}
    now = 0
    last_live: dict[str, dict[str, object]] = {}
    times = sorted(wall)
    for rows in index.rows:
        while times and times[0] < rows.seq:
            now = wall[times.pop(0)]
        for reservation, row in rows.reservations.items():
            born.setdefault(reservation, rows.seq)
            first_of.setdefault((row["namespace"], row["key"]), reservation)
        for reservation, old in list(last_live.items()):
            now_row = rows.reservations.get(reservation)
            if (now_row is None or now_row["state"] == "Expired") and reservation not in gone:
                gone.add(reservation)
                replacement = first_of[str(old["namespace"]), str(old["key"])] != reservation
                due = old["replay_expires_at"]
                if replacement and (not isinstance(due, int) or now < due):
                    yield Violation(
                        f"generation {reservation[-6:]} untouched: only its predecessor was due",
                        f"it was retired while {old['state']}",
                        rows.seq,
                        "rows",
                    )
        last_live = {k: dict(r) for k, r in rows.reservations.items() if r["state"] != "Expired"}
    for reservation, seq in born.items():
        if reservation in first_of.values():
            continue
        for command in index.commands:
            if command.cmd in ("host.housekeep", "host.invoke") and command.outcome == "done":
                made = command.cmd == "host.invoke" and any(
                    rows.reservations[reservation]["attempt"] in index.attempts_of(command)
                    for rows in index.rows
                    if reservation in rows.reservations
                )
                if command.seq < seq < command.until and not made:
                    yield Met("stale-housekeeper" if command.cmd == "host.housekeep" else "stale-candidate")
