"""History mutants about keys: for each requirement passing histories with one edit, by which it has to be named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from conformance.history import History
from tests.checkers.histories import (
    Kinds,
    answer_says,
    asked,
    at,
    attempt,
    changed,
    drop_row,
    edit_rows,
    history,
    reservation,
    row_becomes,
    told,
    with_connection,
)

PLAIN: Final = "mutation/invoke-keyed"
LOST: Final = "mutation/invoke-keyed/remote@apply-then-drop/continue"
BESIDE: Final = "mutation/invoke-keyed/remote@hold+duplicate+success/continue"
OTHER: Final = "mutation/other-request"
NAMES: Final = "mutation/namespaces"
SPELL: Final = "mutation/key-spelling"
RIVAL: Final = "mutation/rival-request"
AGES: Final = "mutation/pending-ages"
LASTS: Final = "mutation/quarantine-lasts"
JUMP: Final = "mutation/clock-jump"
UNTRUSTED: Final = "mutation/untrusted-settlement"
EXPIRY: Final = "mutation/replay-before-expiry"
DENIED: Final = "mutation/denied-replay"
REVOKED: Final = "mutation/revoked-replay/w1.invoke.lookup:read#1@pause+{}/continue"
WAIT: Final = "mutation/revoked-wait"
UNSEEN: Final = "mutation/unseen-keys"
APPROVED: Final = "mutation/replay-with-approval"
RECHECK: Final = "mutation/recheck/w1.invoke.lookup:clock#1@hang+{}/continue"
GONE: Final = "mutation/recheck/w1.invoke.approval:read#1@pause+winner-then-revoked/continue"
FREED: Final = RECHECK.format("revoked")
LATE: Final = "mutation/recheck-late-winner/w1.invoke.lookup:clock#1@hang+winner/continue"
DOWN: Final = "mutation/recheck-unreadable/w1.invoke.lookup:read#1@fail+outage/restart"
FULL: Final = "mutation/full-store"
ORPHAN: Final = "mutation/recover-dispatching"
EPOCH_MS: Final = 1_767_225_600_000
RETENTION_MS: Final = 86_400_000

Mutant = Callable[[], History]


def says(schedule: str, request_id: str, classification: str, code: str | None = None) -> Mutant:
    """Its caller was told this instead."""
    return lambda: answer_says(history(schedule), told(history(schedule), request_id), classification, code)


def plainly(schedule: str, request_id: str, code: str, **more: Any) -> Mutant:
    """Its caller was told this code, without an observation."""

    def edit() -> History:
        h = history(schedule)
        head = {"version": "v1alpha2", "request_id": request_id, "status": "error"}
        return changed(h, told(h, request_id), result={**head, "error": {"code": code, **more}})

    return edit


def sends(schedule: str, request_id: str, proc: str) -> Mutant:
    """It was seen at the remote."""
    return lambda: with_connection(history(schedule), asked(history(schedule), request_id), proc, "m1")


def lacks(schedule: str, request_id: str, since: Callable[[History], int] = lambda _: 0) -> Mutant:
    """The reservation that it made is not in the rows, from some event on."""
    return lambda: drop_row(history(schedule), reservation(history(schedule), request_id), since(history(schedule)))


def holds(schedule: str, request_id: str, since: Callable[[History], int], **columns: Any) -> Mutant:
    """The reservation that it made has other columns from some event on."""
    h = schedule
    return lambda: row_becomes(history(h), reservation(history(h), request_id), since(history(h)), **columns)


def stands(schedule: str, request_id: str, since: Callable[[History], int], **columns: Any) -> Mutant:
    """The attempt that it made has other columns from some event on."""
    h = schedule
    return lambda: row_becomes(history(h), attempt(history(h), request_id), since(history(h)), **columns)


def makes_none(schedule: str, request_id: str) -> Mutant:
    """Neither its attempt nor its reservation was ever there."""

    def edit() -> History:
        h = history(schedule)
        gone = {reservation(h, request_id), attempt(h, request_id)}

        def without(kinds: Kinds) -> Kinds:
            members = ("reservation", "attempt", "id")
            return {k: [r for r in rows if not any(r.get(m) in gone for m in members)] for k, rows in kinds.items()}

        return edit_rows(h, without)

    return edit


def makes_one(schedule: str, request_id: str, since: Callable[[History], int] | None = None) -> Mutant:
    """It made an attempt and a reservation of its own, seen as of some event."""
    key = "k1"
    mine = {"attempt": "made", "request_id": request_id, "key": key, "state": "Prepared", "settled_at": None}
    its = {
        "reservation": "held",
        "namespace": "n",
        "key": key,
        "fingerprint": "f",
        "attempt": "made",
        "state": "Pending",
    }

    def more(kinds: Kinds) -> Kinds:
        return {**kinds, "attempts": [*kinds["attempts"], mine], "reservations": [*kinds["reservations"], its]}

    begin = since or (lambda h: asked(h, request_id))
    return lambda: edit_rows(history(schedule), more, begin(history(schedule)))


def spends(schedule: str, request_id: str, reference: str) -> Mutant:
    """One more use of an approval is in the rows from its answer on."""
    row = {"spend": "again", "issuer": "desk", "reference": reference, "attempt": "other", "state": "Spent"}

    def more(kinds: Kinds) -> Kinds:
        return {**kinds, "spends": [*kinds["spends"], row]}

    return lambda: edit_rows(history(schedule), more, told(history(schedule), request_id))


def shows(schedule: str, request_id: str, original: str) -> Mutant:
    """Its answer names the attempt of somebody else's call."""

    def edit() -> History:
        h = history(schedule)
        place = told(h, request_id)
        result = h.events[place].data["result"]
        named = {"instance": "host-a", "id": attempt(h, original)}
        return changed(h, place, result={**result, "mutation": {**result.get("mutation", {}), "attempt": named}})

    return edit


def after(proc: str) -> Callable[[History], int]:
    """From the answer of a process on."""
    return lambda h: at(h, "answer", proc)


def since(request_id: str) -> Callable[[History], int]:
    """From the answer to an invocation on."""
    return lambda h: told(h, request_id)


MUTANTS: Final[dict[str, tuple[Mutant, ...]]] = {
    "KEY-008": (lacks(ORPHAN, "q1", after("r1")), holds(ORPHAN, "q1", after("r1"), attempt="other")),
    "KEY-022": (makes_none(NAMES, "a0"), makes_one(BESIDE, "q2")),
    "KEY-025": (makes_none(SPELL, "q2"), lambda: plainly_on(makes_none(SPELL, "q2")(), "q2")),
    "KEY-034": (says(OTHER, "operation-k2", "applied"), sends(OTHER, "operation-k2", "w2")),
    "KEY-035": (says(OTHER, "connection-k2", "applied"), sends(OTHER, "connection-k2", "b1")),
    "KEY-038": (says(OTHER, "revision-k2", "applied"), sends(OTHER, "revision-k2", "b2")),
    "KEY-046": (plainly(OTHER, "same-k2", "idempotency_conflict"), plainly(BESIDE, "q2", "idempotency_conflict")),
    "RET-003": (lacks(JUMP, "q1", after("g1")), sends(JUMP, "q2", "w2")),
    "RET-007": (holds(AGES, "q1", after("g1"), state="Expired"), sends(AGES, "q3", "w2")),
    "RET-008": (
        holds(PLAIN, "q1", since("q1"), state="Pending"),
        stands(PLAIN, "q1", since("q1"), state="Dispatching"),
    ),
    "RET-010": (
        holds(PLAIN, "q1", since("q1"), replay_expires_at=EPOCH_MS + RETENTION_MS + 90_000),
        holds(PLAIN, "q1", since("q1"), settled_at=EPOCH_MS - 9_000, replay_expires_at=EPOCH_MS - 9_000 + RETENTION_MS),
    ),
    "RET-011": (
        holds(EXPIRY, "q1", since("q3"), replay_expires_at=EPOCH_MS + 2 * RETENTION_MS),
        holds(EXPIRY, "q1", since("q2"), settled_at=EPOCH_MS + 60_000),
    ),
    "RET-014": (holds(LOST, "q1", since("q1"), state="Replayable"), holds(LOST, "q1", since("q1"), state="Pending")),
    "RET-015": (lacks(LASTS, "q1", since("q2")), holds(LASTS, "q1", after("g1"), state="Expired")),
    "RET-016": (
        holds(UNTRUSTED, "q1", after("r1"), state="Pending"),
        stands(UNTRUSTED, "q1", since("q1"), settled_at=EPOCH_MS - 5),
    ),
    "RET-025": (says(LASTS, "q2", "applied"), sends(AGES, "q2", "w2")),
    "RET-027": (lacks(FULL, "q2", since("q4")), holds(FULL, "q3", since("q4"), state="Expired")),
    "RET-037": (says(UNTRUSTED, "q4", "applied"), lacks(UNTRUSTED, "q1", since("q2"))),
    "REPLAY-002": (sends(PLAIN, "q8", "e1"), makes_one(PLAIN, "q8")),
    "REPLAY-003": (
        says(APPROVED, "conflict-unapproved", "not_attempted", "approval_required"),
        says(APPROVED, "conflict-unready", "not_attempted", "unavailable"),
    ),
    "REPLAY-005": (
        says(APPROVED, "none", "not_attempted", "approval_required"),
        says(APPROVED, "invalid", "not_attempted", "approval_refused"),
    ),
    "REPLAY-006": (says(APPROVED, "same", "not_attempted", "approval_replayed"), spends(APPROVED, "same", "a1")),
    "REPLAY-008": (says(RIVAL, "q1", "not_attempted", "unavailable"), makes_one(RIVAL, "q1", since("q2"))),
    "REPLAY-013": (
        says(BESIDE, "q2", "refused", "forbidden"),
        stands(BESIDE, "q1", lambda h: asked(h, "q2"), state="Dispatching"),
    ),
    "REPLAY-016": (says(REVOKED.format("caller"), "q2", "applied"), says(REVOKED.format("result"), "q2", "unknown")),
    "REPLAY-017": (says(WAIT, "a-caller", "applied"), says(WAIT, "a-disabled", "unknown", "outcome_unknown")),
    "REPLAY-023": (
        spends(APPROVED, "other-claim", "c2"),
        says(APPROVED, "other-claim", "not_attempted", "approval_refused"),
    ),
    "REPLAY-028": (
        says(RECHECK.format("winner-then-refused"), "q1", "not_attempted", "approval_refused"),
        says(RECHECK.format("winner-then-unready"), "q1", "not_attempted", "unavailable"),
    ),
    "REPLAY-030": (
        says(RECHECK.format("rival-then-refused"), "q1", "not_attempted", "approval_refused"),
        shows(RECHECK.format("rival-then-refused"), "q1", "q2"),
    ),
    "REPLAY-032": (says(LATE, "q1", "unknown", "outcome_unknown"), sends(LATE, "q1", "w1")),
    "REPLAY-036": (says(DOWN, "q1", "not_attempted", "approval_required"), says(DOWN, "q1", "unknown", "unavailable")),
    "REPLAY-037": (
        says(GONE, "q1", "applied"),
        plainly(GONE, "q1", "idempotency_conflict"),
        says(FREED, "q1", "not_attempted", "approval_refused"),
        plainly(FREED, "q1", "approval_required"),
    ),
    "REPLAY-038": (
        says(RECHECK.format("winner-spends"), "q1", "not_attempted", "approval_replayed"),
        sends(RECHECK.format("winner-spends"), "q1", "w1"),
    ),
    "REPLAY-039": (makes_none(NAMES, "a0"), makes_none(NAMES, "a1")),
    "REPLAY-040": (plainly(NAMES, "a0", "idempotency_conflict"), shows(NAMES, "a1", "q1")),
    "REPLAY-041": (
        says(OTHER, "input-k3", "unknown", "outcome_unknown"),
        plainly(OTHER, "input-k1", "idempotency_conflict", message="the input differs"),
    ),
    "REPLAY-047": (says(DENIED, "a-caller", "applied"), sends(DENIED, "a-origin", "origin")),
    "REPLAY-054": (plainly(LASTS, "q3", "idempotency_conflict"), says(LASTS, "q3", "applied")),
    "REPLAY-055": (sends(LASTS, "q3", "w2"), says(LASTS, "q4", "applied")),
    "REPLAY-057": (
        plainly(UNSEEN, "other-k1", "idempotency_conflict"),
        plainly(UNSEEN, "same-k2", "forbidden", message="not yours"),
    ),
}


def plainly_on(h: History, request_id: str) -> History:
    """The same with a conflict as the answer."""
    result = {"version": "v1alpha2", "request_id": request_id, "status": "error"}
    return changed(h, told(h, request_id), result={**result, "error": {"code": "idempotency_conflict"}})


def broken_keys() -> list[History]:
    """Every mutant, for those who only need histories in which each of these requirements is violated."""
    return [mutant() for mutants in MUTANTS.values() for mutant in mutants]
