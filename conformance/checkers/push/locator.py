"""One remote locator, one link (DRIFT-092)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.push.index import Index, Record, Row, attempts, links, record_of
from conformance.checkers.push.registry import CHECKERS
from conformance.checkers.timeline import Connection, Look

#: Owner key, destination slot, scope.
Scope = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Told:
    """A record and the id that the remote answered it with, in the form in which its profile compares ids."""

    record: Record
    connection: Connection
    canonical: str


@CHECKERS.checker("DRIFT-092", "suite", "wire", "answer", "rows")
def an_owned_locator_stays_with_its_owner(index: Index) -> Iterator[Finding]:
    """An id that belongs to another record makes no link, moves none, stays as evidence, and is not asked for again."""
    for first, second in _shared(index):
        yield from _judge(index, first, second)
    yield from _reconciled(index)
    yield from _two_links(index)


def _shared(index: Index) -> Iterator[tuple[Told, Told]]:
    """Pairs of records that the remote answered with one id: whoever was answered first, and the other."""
    seen: dict[tuple[str, ...], Told] = {}
    answered = [c for c in index.connections if c.effect == "done" and c.identity and c.how == "answered"]
    for connection in sorted(answered, key=lambda c: c.end_seq):
        record = index.record_of(connection)
        if record is None:
            continue
        scope = _scope(index, connection)
        told = Told(record, connection, index.canonical(scope[1], str(connection.identity)))
        first = seen.setdefault((*scope, told.canonical), told)
        if first.record != record:
            yield first, told


def _judge(index: Index, first: Told, second: Told) -> Iterator[Finding]:
    seq = second.connection.end_seq
    owner = next((told for told in (first, second) if _owns(index, told)), None)
    if owner is None:
        return
    command = first.connection.command
    if any(_has(index, row, second.canonical) for row in links(index.look_before(seq))):
        spelled = first.connection.identity != second.connection.identity
        yield Met("spelled" if spelled else "owned")
    elif command is not None and command.seq < seq < command.until:
        yield Met("at-once")
    loser = second if owner is first else first
    shared, last = str(loser.connection.identity), index.looks[-1]
    quiet = not any(f.action in ("fail", "lose-ack") for f in index.faults) and not index.killed_commands
    for row in attempts(last, loser.record):
        if quiet and row["state"] == "terminal_failed" and not _has(index, row, loser.canonical):
            yield Violation(
                f"attempt {row['attempt'][-6:]} keeps {shared} as evidence", "it kept no id", last.seq, "rows"
            )
        yield from _done_without(index, row, last, loser.canonical)
    for repeat in index.repeats:
        # A further attempt beside the failed one is another matter (POST-023).
        alone = len(attempts(index.look_after(repeat.again.seq), loser.record)) == 1
        if repeat.record == loser.record and repeat.why == "kept" and alone:
            yield Violation(
                f"no second request for record {loser.record[1]}, whose id belongs to record {owner.record[1]}",
                f"{repeat.again.proc} connected to the remote again",
                repeat.again.seq,
                "wire",
            )


def _reconciled(index: Index) -> Iterator[Finding]:
    """What an operator found is an answer like any other: an id that is taken makes no link."""
    for act in index.commands:
        record = record_of(act)
        if act.cmd != "push.operate" or act.args.get("act") != "reconcile" or record is None:
            continue
        before = index.look_before(act.seq)
        given = str(act.args.get("remote_id"))
        for row in attempts(before, record):
            if row["state"] != "ambiguous_remote_effect":
                continue
            slot = index.slot_of(record[0])
            canonical = index.canonical(slot, given)
            taken = (
                link["destination_slot"] == slot and link["state"] != "retired" and _has(index, link, canonical)
                for link in links(before)
                if (link["object"], link["record"]) != record
            )
            if not any(taken):
                continue
            yield Met("reconciled")
            last = index.looks[-1]
            for now in attempts(last, record):
                yield from _done_without(index, now, last, canonical)


def _done_without(index: Index, row: Row, last: Look, canonical: str) -> Iterator[Violation]:
    """An attempt whose id belongs to somebody else is not done with."""
    record = (row["object"], row["record"])
    if row["state"] == "finalized" and not any(not _has(index, r, canonical) for r in links(last, record)):
        yield _moved(f"attempt {row['attempt'][-6:]} is finalized", record, canonical, last.seq)


def _owns(index: Index, told: Told) -> bool:
    return any(_has(index, row, told.canonical) for look in index.looks for row in links(look, told.record))


def _has(index: Index, row: Row, canonical: str) -> bool:
    """Whether a link or an attempt carries an id, in whichever spelling."""
    return index.locator(row) == canonical


def _two_links(index: Index) -> Iterator[Finding]:
    owners: dict[tuple[str, ...], Row] = {}
    for look in index.looks:
        for row in links(look):
            if row["state"] == "retired":
                continue
            scope = tuple(str(row[name]) for name in ("owner_key", "destination_slot", "scope"))
            # What the row calls the canonical id, and what its profile says of the id that is on it.
            told = str(index.locator(row))
            for key in (("row", *scope, str(row["canonical_id"])), ("told", *scope, told)):
                owner = owners.setdefault(key, row)
                if (owner["object"], owner["record"]) != (row["object"], row["record"]):
                    what = f"record {row['record']} has the link now"
                    yield _moved(what, (owner["object"], owner["record"]), row["remote_id"], look.seq)
                    return


def _moved(what: str, record: Record, shared: str, seq: int) -> Violation:
    return Violation(
        f"one link for {shared}, that of the record which had it first", f"{what} ({record[1]})", seq, "rows"
    )


def _scope(index: Index, connection: Connection) -> Scope:
    """The scope in which the id that answered a request is one record's alone."""
    for pack, action in index.authored:
        if action["create_path"] == connection.path:
            slot = action["destination_slot"]
            scopes = (str(p["scope"]) for p in pack["profiles"] if p["destination_slot"] == slot)
            return (str(pack["owner_key"]), str(slot), next(scopes, ""))
    return ("", "", "")
