"""What nothing takes from a live reservation (KEY-008, RET-003, RET-007, RET-015, RET-025 to RET-027)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.coordinates import Coordinates
from conformance.checkers.mutation.facts import Clock, Command, Rows
from conformance.checkers.mutation.fingerprint import CONFLICT, no_work
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS
from conformance.checkers.mutation.slots import GONE, RETENTION_MS, UNSETTLED, Generation

_RETIRED: Final = ("Expired", GONE)


@CHECKERS.checker("KEY-008", "suite", "wire", "answer", "rows")
def recovery_keeps_unresolved_reservations(index: Index) -> Iterator[Finding]:
    """After a pass of recovery each unresolved reservation is the same, of the same attempt, and the key's newest."""
    for command in index.commands:
        if command.cmd != "recover" or command.outcome != "done" or not any(k.seq < command.seq for k in index.kills):
            continue
        after = index.rows_before(index.seen_by(command) + 1)
        for generation in index.slots.generations.values():
            state, its = generation.state(command.seq), generation.attempt_state(command.seq)
            if state == "Quarantined":
                yield Met("quarantined")
            elif state == "Pending" and its in UNSETTLED:
                yield Met(f"pending-{its.lower()}")
            else:
                continue
            held = (after.reservations if after is not None else None) or {}
            row = held.get(generation.id)
            allowed = f"reservation {generation.id[-6:]} with attempt {generation.attempt[-6:]}, as before recovery"
            if row is None or row.get("attempt") != generation.attempt:
                happened = "it is gone" if row is None else "it has another attempt"
                yield Violation(allowed, happened, index.seen_by(command), "rows")
            elif any(command.seq < g.born <= index.seen_by(command) for g in index.slots.of(generation.at)):
                yield Violation(allowed, "the key was reserved anew", index.seen_by(command), "rows")


@CHECKERS.checker("RET-003", "suite", "wire", "answer", "rows")
def doubt_is_no_expiry(index: Index) -> Iterator[Finding]:
    """A read that failed and a wall clock that jumped retire nothing: no new attempt, and no retirement."""
    for meeting in index.slots.meetings:
        command = meeting.command
        reads = (f for f in index.faults if f.command is command and f.action == "fail" and not f.changes)
        allowed = f"no new attempt under key {command.key}, whose expiry nothing proves"
        if any(f.point.rpartition(":")[2] in ("read", "tx-read") for f in reads):
            yield Met("failed-read")
            yield from no_work(index, command, allowed)
        elif meeting.state == "Replayable" and _jumped(index, meeting.generation, command.seq):
            yield Met("jump-and-restart" if _restarted(index, meeting.generation, command) else "jump")
            yield from no_work(index, command, allowed)
    for generation in index.slots.generations.values():
        for command in filter(_kept_house, index.commands):
            if generation.state(command.seq) == "Replayable" and _jumped(index, generation, command.seq):
                yield Met("jump-and-housekeeping")
        for seq, state in generation.states:
            if state in _RETIRED and generation.state(seq) == "Replayable" and _jumped(index, generation, seq):
                allowed = f"reservation {generation.id[-6:]} lives: only an untrusted clock says that it is over"
                yield Violation(allowed, "it was retired", seq, "rows")


def _jumped(index: Index, generation: Generation, seq: int) -> bool:
    """Whether only an untrusted wall clock says at an event that the retention of a known result is over."""
    now = index.clock_at(seq)
    began = index.clock_at(generation.settled) if generation.settled is not None else None
    if now is None or began is None or now.trusted or now.wall_ms - began.wall_ms < RETENTION_MS:
        return False
    return index.slots.within_retention(generation, seq)


def _restarted(index: Index, generation: Generation, command: Command) -> bool:
    """Whether every process that had seen the key before is gone: the one of this call began after a kill."""
    return any(generation.born < k.seq < command.seq for k in index.kills)


@CHECKERS.checker("RET-007", "suite", "wire", "answer", "rows")
def pending_never_lapses(index: Index) -> Iterator[Finding]:
    """An open attempt keeps its reservation Pending, also once the retention of a known result would be over."""
    for generation in index.slots.generations.values():
        since = index.clock_at(generation.born)
        for command in index.commands:
            pends = generation.state(command.seq) == "Pending" and generation.attempt_state(command.seq) in UNSETTLED
            if _kept_house(command) and pends and _aged(since, index.clock_at(command.seq)):
                yield Met("housekeeping")
        for seq, state in generation.states:
            lapsed = state in _RETIRED and generation.state(seq) == "Pending"
            if lapsed and generation.attempt_state(seq + 1) in UNSETTLED and _aged(since, index.clock_at(seq)):
                yield Violation(f"reservation {generation.id[-6:]} stays Pending", f"it is {state}", seq, "rows")
    for meeting in index.slots.meetings:
        command, generation = meeting.command, meeting.generation
        aged = _aged(index.clock_at(generation.born), index.clock_at(command.seq))
        if meeting.state == "Pending" and meeting.equal and aged:
            yield Met("exact-retry")
            yield from no_work(index, command, f"no work for {command.request_id}: its original is still open")


def _kept_house(command: Command) -> bool:
    return command.cmd == "host.housekeep" and command.outcome == "done"


def _aged(since: Clock | None, now: Clock | None) -> bool:
    return since is not None and now is not None and now.mono_ms - since.mono_ms >= RETENTION_MS


@CHECKERS.checker("RET-015", "suite", "wire", "answer", "rows")
def quarantine_has_no_way_out(index: Index) -> Iterator[Finding]:
    """What was Quarantined stays so: over a day and a housekeeper, a restart, a clock that jumps, and late evidence."""
    for generation in index.slots.generations.values():
        since = next((seq for seq, state in generation.states if state == "Quarantined"), None)
        if since is None:
            continue
        # A reservation may lag behind: what it goes through counts from the settlement of its attempt.
        settled = next((seq for seq, state in generation.attempt_states if state == "Indeterminate"), since)
        yield from (Met(cell) for cell in _ordeals(index, generation, min(since, settled)))
        after = next(((seq, s) for seq, s in generation.states if seq > since and s != "Quarantined"), None)
        if after is not None:
            yield Violation(
                f"reservation {generation.id[-6:]} stays Quarantined", f"it is {after[1]}", after[0], "rows"
            )


def _ordeals(index: Index, generation: Generation, since: int) -> Iterator[str]:
    began = index.clock_at(since)
    for command in index.commands:
        now = index.clock_at(command.seq)
        if not _kept_house(command) or command.seq < since or began is None:
            continue
        if now is not None and now.wall_ms - began.wall_ms >= RETENTION_MS:
            yield "housekeeping" if now.trusted else "clock-jump"
    if any(k.seq > since for k in index.kills):
        yield "restart"
    if any(c.known and c.end_seq > since for c in index.connections_of(generation.owner)):
        yield "late-evidence"
    cancels = (c for c in index.commands if c.cmd == "host.cancel" and c.seq > since and c.outcome == "done")
    if any(c.args["request_id"] == generation.owner.request_id for c in cancels):
        yield "cancel"


@CHECKERS.checker("RET-025", "suite", "wire", "answer", "rows")
def unresolved_keys_stay_indexed_over_a_restart(index: Index) -> Iterator[Finding]:
    """After a restart an unresolved key still conflicts with another request."""
    for meeting in index.slots.claims:
        command, generation = meeting.command, meeting.generation
        if meeting.equal or meeting.state not in ("Pending", "Quarantined"):
            continue
        if not _restarted(index, generation, command):
            continue
        yield Met(meeting.state.lower())
        allowed = f"a conflict for {command.request_id}: key {command.key} is held since before the restart"
        if index.slots.undisturbed(command) and command.code != CONFLICT:
            told = command.code or command.classification
            yield Violation(allowed, f"the caller was told {told}", command.until, "answer")
        yield from no_work(index, command, allowed)


def _room(index: Index, command: Command, place: Coordinates) -> tuple[int, int] | None:
    """(room, live reservations) of a bounded store to which a new key comes."""
    room = command.config.get("capacity", {}).get("reservations")
    before = index.rows_before(command.seq)
    if not isinstance(room, int) or before is None or any(g.holds(command.seq) for g in index.slots.of(place)):
        return None
    return room, _live(before)


def _live(rows: Rows) -> int:
    return sum(row.get("state") != "Expired" for row in (rows.reservations or {}).values())


@CHECKERS.checker("RET-026", "suite", "wire", "answer", "rows")
def a_full_store_takes_no_new_key(index: Index) -> Iterator[Finding]:
    """Whoever comes with a new key to a store without room is refused ahead of any dispatch, also of two at once."""
    for command, place in index.slots.keyed():
        found = _room(index, command, place)
        if found is None or index.reconfigured(command):
            continue
        room, live = found
        rivals = [c for c in index.during(command, frozenset({"host.invoke"})) if c.key not in (None, command.key)]
        # What has expired may make room for it.
        kept = all(index.slots.within_retention(g, command.until) for g in index.slots.generations.values())
        if live >= room and kept:
            yield Met("full")
            yield from no_work(index, command, f"no dispatch of {command.request_id}: {live} of {room} keys are live")
        elif live == room - 1 and rivals:
            yield Met("at-once")
            meanwhile = (r for r in index.rows if command.seq < r.seq <= index.seen_by(command))
            over = next((r for r in meanwhile if _live(r) > room), None)
            if over is not None:
                yield Violation(f"room for {room} live keys", f"{_live(over)} are live", over.seq, "rows")


@CHECKERS.checker("RET-027", "suite", "wire", "answer", "rows")
def nothing_unresolved_is_evicted(index: Index) -> Iterator[Finding]:
    """A store without room keeps every unresolved key, whatever new key comes."""
    for command, place in index.slots.keyed():
        found = _room(index, command, place)
        if found is None or found[1] < found[0]:
            continue
        for generation in index.slots.generations.values():
            state, after = generation.holds(command.seq), generation.state(index.seen_by(command) + 1)
            if state not in ("Pending", "Quarantined") or generation.state(command.seq) in _RETIRED:
                continue
            yield Met(state.lower())
            if after in _RETIRED:
                allowed = f"reservation {generation.id[-6:]} is kept: it is {state}"
                yield Violation(allowed, f"it is {after} after {command.request_id}", index.seen_by(command), "rows")
