"""What a settlement does to the reservation (RET-008, RET-010, RET-011, RET-014, RET-016, RET-037)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import Clock, Command, Connection
from conformance.checkers.mutation.fingerprint import CONFLICT, no_work
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.observing import CLASSES
from conformance.checkers.mutation.registry import CHECKERS
from conformance.checkers.mutation.slots import GONE, KNOWN, RETENTION_MS, TICKS_MS, Generation

_HOUR_MS: Final = 3_600_000
_SETTLERS: Final = frozenset({"recover", "host.cancel"})


def _settler(index: Index, seq: int) -> Command | None:
    """The pass of recovery or the cancel during which the rows first showed what an event shows."""
    return next((c for c in index.commands if c.cmd in _SETTLERS and c.seq < seq <= index.seen_by(c)), None)


def _row(index: Index, seq: int, name: str) -> Mapping[str, Any]:
    """The row of a reservation at or ahead of an event; empty when there is none."""
    rows = index.rows_before(seq + 1)
    held = rows.reservations if rows is not None else None
    return (held or {}).get(name, {})


def trusted(index: Index, since: int, until: int) -> bool:
    """Whether time was trusted all along between two events."""
    began = index.clock_at(since)
    return all(c.trusted for c in index.clocks if (began.seq if began else 0) <= c.seq < until)


@CHECKERS.checker("RET-008", "suite", "wire", "answer", "rows")
def known_settlement_moves_both(index: Index) -> Iterator[Finding]:
    """A known settlement of the attempt and the reservation's Replayable are one step: no snapshot shows one alone.

    What is settled while time is not trusted is left to RET-037.
    """
    for fault in index.faults:
        settles = any(e == "mutation_attempt" and dest in KNOWN for e, _, dest in fault.changes)
        if settles and fault.action == "crash" and fault.command is not None and fault.command in _keyed(index):
            yield Met("crash-after-commit" if fault.point.endswith(":committed") else "crash-before-commit")
    for generation in index.slots.generations.values():
        settled = generation.settled
        timely = settled is None or trusted(index, generation.owner.seq, settled)
        marks = sorted({seq for seq, _ in (*generation.states, *generation.attempt_states)})
        for seq in marks:
            mine, its = generation.state(seq + 1), generation.attempt_state(seq + 1)
            if its in KNOWN and mine == "Replayable" and timely:
                yield Met(str(its).lower())
            if (its in KNOWN and mine == "Pending" and timely) or (mine == "Replayable" and its not in (None, *KNOWN)):
                allowed = "a known settlement and a replayable reservation in one step"
                yield Violation(allowed, f"the attempt was {its} and its reservation {mine}", seq, "rows")
                break


def _keyed(index: Index) -> list[Command]:
    return [command for command, _ in index.slots.keyed()]


@CHECKERS.checker("RET-010", "suite", "wire", "answer", "rows")
def expiry_is_settlement_plus_retention(index: Index) -> Iterator[Finding]:
    """``replay_expires_at`` is ``settled_at`` plus 86,400 s to the millisecond, and ``settled_at`` the settlement."""
    for generation in index.slots.generations.values():
        settled = generation.settled
        first = next((seq for seq, state in generation.states if state == "Replayable"), None)
        if settled is None or first is None:
            continue
        row = _row(index, first, generation.id)
        at, due = row.get("settled_at"), row.get("replay_expires_at")
        if not isinstance(at, int) or not isinstance(due, int):
            continue
        if due - at != RETENTION_MS:
            yield Violation("settled_at plus 86,400,000 ms", f"it expires {due - at} ms after it", first, "rows")
        if not trusted(index, generation.owner.seq, settled):
            continue
        settler = _settler(index, settled) or generation.owner
        began, ended = index.clock_at(settler.seq), index.clock_at(settled)
        if began is None or ended is None:
            continue
        yield Met("long-pending" if _elapsed(index, generation.born, settled) >= RETENTION_MS else "prompt")
        if not began.wall_ms <= at <= ended.wall_ms + TICKS_MS:
            allowed = f"settled_at between {began.wall_ms} and {ended.wall_ms + TICKS_MS}, when it was settled"
            yield Violation(allowed, f"it is {at}", first, "rows")


def _elapsed(index: Index, since: int, until: int) -> int:
    """The elapsed ms between two events."""
    began, ended = index.clock_at(since), index.clock_at(until)
    return ended.mono_ms - began.mono_ms if began is not None and ended is not None else 0


@CHECKERS.checker("RET-011", "suite", "wire", "answer", "rows")
def replays_do_not_postpone_expiry(index: Index) -> Iterator[Finding]:
    """A replay leaves ``settled_at`` and ``replay_expires_at`` as they are, also right ahead of the expiry."""
    for meeting in index.slots.meetings:
        command, name = meeting.command, meeting.generation.id
        if not meeting.equal or meeting.state != "Replayable":
            continue
        before, after = _row(index, command.seq, name), _row(index, index.seen_by(command), name)
        due, now = before.get("replay_expires_at"), index.clock_at(command.seq)
        if not isinstance(due, int) or now is None:
            continue
        yield Met("right-before-expiry" if due - now.wall_ms <= _HOUR_MS else "early")
        for column in ("settled_at", "replay_expires_at"):
            if before.get(column) is not None and after.get(column) not in (None, before[column]):
                allowed = f"{column} of {name[-6:]} stays {before[column]} over the replay for {command.request_id}"
                yield Violation(allowed, f"it became {after[column]}", index.seen_by(command), "rows")


@CHECKERS.checker("RET-014", "suite", "wire", "answer", "rows")
def indeterminate_is_quarantined(index: Index) -> Iterator[Finding]:
    """Beside an Indeterminate attempt the reservation is Quarantined, at once or once recovery has run."""
    for generation in index.slots.generations.values():
        since = next((seq for seq, state in generation.attempt_states if state == "Indeterminate"), None)
        if since is None:
            continue
        settler = _settler(index, since)
        yield Met("recovery" if settler is not None else "live")
        last = index.rows[-1]
        state = generation.state(last.seq + 1)
        wrong = next(((s, q) for q, s in generation.states if q >= since and s == "Replayable"), None)
        if wrong is None and state == "Pending" and index.recovered_after(since):
            wrong = ("Pending", last.seq)
        if wrong is not None:
            allowed = f"reservation {generation.id[-6:]} is Quarantined: its attempt is Indeterminate"
            yield Violation(allowed, f"it is {wrong[0]}", wrong[1], "rows")


def _known_without_time(index: Index) -> Iterator[tuple[Generation, Connection, Clock]]:
    """The generations whose outcome came to be known while time was not trusted, with the answer and the clock."""
    for generation in index.slots.generations.values():
        for connection in index.connections_of(generation.owner):
            clock = index.clock_at(connection.end_seq)
            if connection.known and clock is not None and not clock.trusted:
                yield generation, connection, clock


@CHECKERS.checker("RET-016", "suite", "wire", "answer", "rows")
def a_lag_is_repaired_by_the_original_time(index: Index) -> Iterator[Finding]:
    """Once recovery has run with trusted time, a settled attempt has a Replayable reservation, dated as it was settled.

    The attempt's own time is taken where it has one; else the stamp is no earlier than the settlement. A host that
    held the settlement back has nothing to repair (settlement-without-trusted-time).
    """
    late = {g.id: (c, clock) for g, c, clock in _known_without_time(index)}
    for generation in index.slots.generations.values():
        lagged = next(
            (seq for seq, s in generation.attempt_states if s in KNOWN and generation.state(seq + 1) == "Pending"), None
        )
        connection, clock = late.get(generation.id, (None, None))
        since = lagged if lagged is not None else connection.end_seq if connection is not None else None
        if since is None:
            continue
        repair = next((c for c in index.commands if c.cmd == "recover" and c.seq > since and _good(index, c)), None)
        if repair is None:
            continue
        seq = index.seen_by(repair)
        # A host that settles in two steps lags with trusted time as well; no host has to, so no cell asks for that.
        if clock is not None or not _timely(index, since):
            yield Met("without-trusted-time")
        if generation.attempt_state(seq + 1) not in KNOWN:
            continue
        if generation.state(seq + 1) == "Pending":
            yield Violation("the reservation follows its settled attempt", "it is still Pending", seq, "rows")
            continue
        attempt = next(r.attempts.get(generation.attempt, {}) for r in (index.rows_before(seq + 1),) if r is not None)
        stamp, original = _row(index, seq, generation.id).get("settled_at"), attempt.get("settled_at")
        if isinstance(stamp, int) and isinstance(original, int) and stamp != original:
            yield Violation(f"settled_at {original}, as its attempt was settled", f"it is {stamp}", seq, "rows")


def _timely(index: Index, seq: int) -> bool:
    clock = index.clock_at(seq)
    return clock is None or clock.trusted


def _good(index: Index, command: Command) -> bool:
    """Whether a pass of recovery had trusted time, met no store fault, and says that it is done."""
    done = command.outcome == "done" and command.result.get("status", "done") == "done"
    return done and trusted(index, command.seq, command.until) and not index.slots.struck(command)


@CHECKERS.checker("RET-037", "suite", "wire", "answer", "rows")
def untrusted_time_starts_no_retention(index: Index) -> Iterator[Finding]:
    """A known outcome that came without trusted time keeps its key for the whole retention, counted by true time."""
    late = {g.id: (connection.end_seq, clock) for g, connection, clock in _known_without_time(index)}
    for generation, connection, _ in _known_without_time(index):
        owner = generation.owner
        if connection.effect == "done" and index.slots.undisturbed(owner) and owner.classification != "applied":
            yield Violation(
                "applied, as the live observer knows", f"it said {owner.classification}", owner.until, "answer"
            )
    for meeting in index.slots.meetings:
        command = meeting.command
        known, clock = late.get(meeting.generation.id, (0, None))
        now = index.clock_at(command.seq)
        if clock is None or now is None or not now.trusted or command.seq < known:
            continue
        passed = now.mono_ms - clock.mono_ms
        if passed < _HOUR_MS or passed >= RETENTION_MS - _HOUR_MS:
            yield Met(("exact" if meeting.equal else "other") + ("-at-once" if passed < _HOUR_MS else "-nearly-over"))
        if passed >= RETENTION_MS - _HOUR_MS and _behind_trusted(index, meeting.generation, known):
            yield Met("behind-trusted")
        allowed = f"key {command.key} lives: {passed} ms have passed since its settlement"
        yield from no_work(index, command, allowed)
        if index.slots.undisturbed(command):
            state = meeting.generation.attempt_state(index.seen_by(command) + 1)
            right = command.code == CONFLICT if not meeting.equal else _told(command, state)
            if not right:
                yield Violation(
                    allowed, f"the caller was told {command.code or command.classification}", command.until, "answer"
                )
    for generation in (g for g in index.slots.generations.values() if g.id in late):
        for seq, state in generation.states:
            if state in ("Expired", GONE) and index.slots.within_retention(generation, seq):
                allowed = f"reservation {generation.id[-6:]} lives until trusted time proves its retention over"
                yield Violation(allowed, "it was retired", seq, "rows")
                break


def _behind_trusted(index: Index, generation: Generation, known: int) -> bool:
    """Whether another outcome had been settled with trusted time, an hour or more before this one was known."""
    now = index.clock_at(known)
    for other in index.slots.generations.values():
        settled = other.settled
        if other.id == generation.id or settled is None or settled > known or now is None:
            continue
        then = index.clock_at(settled)
        if then is not None and then.trusted and now.mono_ms - then.mono_ms >= _HOUR_MS:
            return True
    return False


def _told(command: Command, state: str | None) -> bool:
    """Whether the exact request heard what the original may say; a conflict is left to KEY-046."""
    return state is None or command.code == CONFLICT or command.classification in ("unknown", CLASSES.get(state))
