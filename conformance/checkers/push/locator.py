"""One remote locator, one link (DRIFT-092)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.push.index import Index, Record, Row, attempts, links
from conformance.checkers.push.registry import CHECKERS
from conformance.checkers.timeline import Connection


@CHECKERS.checker("DRIFT-092", "suite", "wire", "answer", "rows")
def an_owned_locator_stays_with_its_owner(index: Index) -> Iterator[Finding]:
    """An id that belongs to another record makes no link, moves none, stays as evidence, and is not asked for again."""
    for first, second in _shared(index):
        yield from _judge(index, first, second)
    yield from _two_links(index)


def _shared(index: Index) -> Iterator[tuple[tuple[Record, Connection], tuple[Record, Connection]]]:
    """Pairs of records that the remote answered with one id: whoever was answered first, and the other."""
    seen: dict[str, tuple[Record, Connection]] = {}
    told = [c for c in index.connections if c.effect == "done" and c.identity and c.how == "answered"]
    for connection in sorted(told, key=lambda c: c.end_seq):
        record = index.record_of(connection)
        if record is None:
            continue
        first = seen.setdefault(str(connection.identity), (record, connection))
        if first[0] != record:
            yield first, (record, connection)


def _judge(index: Index, first: tuple[Record, Connection], second: tuple[Record, Connection]) -> Iterator[Finding]:
    seq, shared = second[1].end_seq, str(second[1].identity)
    owner = next((r for r in (first[0], second[0]) if _owns(index, r, shared)), None)
    if owner is None:
        return
    before = index.look_before(seq)
    command = first[1].command
    if any(row["remote_id"] == shared for row in links(before)):
        yield Met("owned")
    elif command is not None and command.seq < seq < command.until:
        yield Met("at-once")
    loser = second[0] if owner == first[0] else first[0]
    quiet = not any(f.action in ("fail", "lose-ack") for f in index.faults) and not index.killed_commands
    last = index.looks[-1]
    for row in attempts(last, loser):
        if quiet and row["state"] == "terminal_failed" and row["remote_id"] != shared:
            yield Violation(
                f"attempt {row['attempt'][-6:]} keeps {shared} as evidence", "it kept no id", last.seq, "rows"
            )
        if row["state"] == "finalized" and not any(r["remote_id"] != shared for r in links(last, loser)):
            yield _moved(f"attempt {row['attempt'][-6:]} is finalized", loser, shared, last.seq)
    for repeat in index.repeats:
        # A further attempt beside the failed one is another matter (POST-023).
        alone = len(attempts(index.look_after(repeat.again.seq), loser)) == 1
        if repeat.record == loser and repeat.why == "kept" and alone:
            yield Violation(
                f"no second request for record {loser[1]}, whose id belongs to record {owner[1]}",
                f"{repeat.again.proc} connected to the remote again",
                repeat.again.seq,
                "wire",
            )


def _owns(index: Index, record: Record, shared: str) -> bool:
    return any(row["remote_id"] == shared for look in index.looks for row in links(look, record))


def _two_links(index: Index) -> Iterator[Finding]:
    owners: dict[tuple[str, ...], Row] = {}
    for look in index.looks:
        for row in links(look):
            if row["state"] == "retired":
                continue
            scope = tuple(str(row[name]) for name in ("owner_key", "destination_slot", "scope", "canonical_id"))
            owner = owners.setdefault(scope, row)
            if (owner["object"], owner["record"]) != (row["object"], row["record"]):
                what = f"record {row['record']} has the link now"
                yield _moved(what, (owner["object"], owner["record"]), row["remote_id"], look.seq)
                return


def _moved(what: str, record: Record, shared: str, seq: int) -> Violation:
    return Violation(
        f"one link for {shared}, that of the record which had it first", f"{what} ({record[1]})", seq, "rows"
    )
