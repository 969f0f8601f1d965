"""Recovery and stale writers (MUT-029, MUT-033)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.index import TERMINAL, Index
from conformance.checkers.mutation.registry import CHECKERS


@CHECKERS.checker("MUT-029", "suite", "answer", "rows")
def stale_writer_is_refused(index: Index) -> Iterator[Finding]:
    """A settled attempt keeps its state, also when the worker that it was taken from wakes up and writes."""
    settled: dict[str, tuple[int, str]] = {}
    reported: set[str] = set()
    for rows in index.rows:
        for attempt, row in rows.attempts.items():
            before = settled.get(attempt)
            if before is None:
                if row["state"] in TERMINAL:
                    settled[attempt] = (rows.seq, row["state"])
            elif row["state"] != before[1] and attempt not in reported:
                reported.add(attempt)
                yield _changed(attempt, before[1], row["state"], rows.seq)
    for move in index.moves:
        if move.entity == "mutation_attempt" and move.source in TERMINAL and move.id not in reported:
            reported.add(move.id)
            yield _changed(move.id, str(move.source), str(move.dest), move.seq)
    for attempt, (seq, state) in settled.items():
        worker = index.owner(attempt)
        if worker is None or worker.outcome != "done" or not worker.seq < seq < worker.until:
            continue
        rivals = (c for c in index.commands if c.proc != worker.proc and worker.seq < c.seq < seq)
        if any(c.cmd in ("recover", "host.cancel") for c in rivals):
            yield Met(f"after-{state.lower()}")


def _changed(attempt: str, before: str, after: str, seq: int) -> Violation:
    return Violation(
        f"attempt {attempt[-6:]} stays {before} once it is settled", f"its row became {after}", seq, "rows"
    )


@CHECKERS.checker("MUT-033", "suite", "wire", "rows")
def recovery_never_sends(index: Index) -> Iterator[Finding]:
    """Recovery over Prepared and Dispatching rows is never seen at the remote, nor is a process without a command."""
    for command in index.commands:
        if command.cmd != "recover":
            continue
        rows = index.rows_before(command.seq)
        killed = {proc for seq, proc in index.kills if seq < command.seq}
        for attempt, row in (rows.attempts if rows else {}).items():
            worker = index.owner(attempt)
            if worker is not None and worker.proc in killed and row["state"] in ("Prepared", "Dispatching"):
                yield Met(row["state"].lower())
    for connection in index.connections:
        command_or_none = connection.command
        if command_or_none is None or command_or_none.cmd == "recover":
            yield Violation(
                "no request from recovery",
                f"{connection.proc} connected to the remote during "
                + ("recover" if command_or_none else "no command at all"),
                connection.seq,
                "wire",
            )
