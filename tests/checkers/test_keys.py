"""Key reservations: REPLAY-007, REPLAY-012."""

from __future__ import annotations

from conformance.history import History
from tests.checkers.histories import (
    Kinds,
    asked,
    at,
    attempt,
    changed,
    drop_row,
    edit_rows,
    history,
    met,
    named,
    reservation,
    row_becomes,
    told,
    with_connection,
    without_kind,
    without_rows,
)

PLAIN = "mutation/invoke-keyed"
LOST = "mutation/invoke-keyed/remote@apply-then-drop/continue"
BESIDE_DUPLICATE = "mutation/invoke-keyed/remote@hold+duplicate+success/continue"
BEFORE = "mutation/invoke-keyed/w1.invoke.prepare:begin#1@pause+duplicate/continue"
EPOCH_MS = 1_767_225_600_000
RETENTION_MS = 86_400_000


class TestReplay007:
    def test_a_keyed_attempt_without_its_reservation(self) -> None:
        h = history(PLAIN)
        assert named(drop_row(h, reservation(h, "q1"), 0, told(h, "q1"))) == {"REPLAY-007"}

    def test_a_reservation_without_its_attempt(self) -> None:
        h = history("mutation/recover-prepared")
        killed = at(h, "rows", why="after kill")
        assert "REPLAY-007" in named(drop_row(h, attempt(h, "q1"), killed, killed + 1))

    def test_a_fingerprint_that_follows(self) -> None:
        h = history(PLAIN)
        assert named(row_becomes(h, reservation(h, "q1"), 0, told(h, "q1"), fingerprint=None)) == {"REPLAY-007"}

    def test_near_miss_the_audit_of_a_refusal(self) -> None:
        # Outcome table, row 1: a refusal before dispatch permission may leave no record or an aborted one.
        audit = {"attempt": "refused", "request_id": "q7", "key": "k1", "state": "Aborted", "settled_at": 1}
        born = {"seq": 0, "entity": "mutation_attempt", "id": "refused", "from_state": None, "to_state": "Aborted"}

        def refused(kinds: Kinds) -> Kinds:
            more = {**kinds, "attempts": [*kinds["attempts"], audit]}
            return {**more, "status_log": [born, *kinds["status_log"]]} if "status_log" in kinds else more

        assert named(edit_rows(history(PLAIN), refused)) == set()
        assert named(edit_rows(without_kind(history(PLAIN), "status_log"), refused)) == set()

    def test_near_miss_an_expired_generation_is_deleted(self) -> None:
        h = history(PLAIN)
        gone = at(h, "answer", cmd="host.housekeep")
        assert named(drop_row(h, reservation(h, "q1"), gone)) == set()

    def test_near_miss_a_driver_that_shows_no_reservations(self) -> None:
        assert named(without_kind(history(PLAIN), "reservations")) == set()


def _moved_on(of: History, ms: int, trusted: bool = True) -> History:
    """The plain history with another time ahead of its last call; the ledger is not looked at."""
    clock = {"wall_ms": EPOCH_MS + ms, "mono_ms": ms, "trusted": trusted}
    return without_rows(changed(of, at(of, "time"), **clock))


class TestReplay012:
    def test_two_duplicates_at_the_remote(self) -> None:
        h = history(BESIDE_DUPLICATE)
        assert "REPLAY-012" in named(without_rows(with_connection(h, asked(h, "q2"), "w2", "m1")))

    def test_a_duplicate_is_sent_within_the_retention(self) -> None:
        assert "REPLAY-012" in named(_moved_on(history(PLAIN), RETENTION_MS - 60_000))

    def test_a_duplicate_is_sent_on_the_strength_of_an_untrusted_clock(self) -> None:
        assert "REPLAY-012" in named(_moved_on(history(PLAIN), RETENTION_MS + 60_000, trusted=False))

    def test_a_quarantined_key_never_expires(self) -> None:
        h = history(LOST)
        again = with_connection(h, asked(h, "q9"), "e1", "m1")
        assert named(again) >= {"MUT-009", "REPLAY-012"}
        # The caller of the edited history still hears unknown, beside an answer that names the effect.
        assert {"REPLAY-012", "OBS-045"} <= named(without_rows(again))

    def test_near_miss_a_duplicate_is_sent_once_the_retention_is_over(self) -> None:
        assert named(_moved_on(history(PLAIN), RETENTION_MS)) == set()

    def test_near_miss_the_same_key_of_another_caller(self) -> None:
        h = history(BESIDE_DUPLICATE)
        place = asked(h, "q2")
        args = h.events[place].data["args"]
        other = {**args, "context": {**args["context"], "caller": "bob"}}
        config = h.events[at(h, "config")].data["config"]
        callers = [*config["callers"], {**config["callers"][0], "caller": "bob"}]
        h = changed(h, at(h, "config"), config={**config, "callers": callers})
        h = with_connection(changed(h, place, args=other), place, "w2", "m1")
        assert "REPLAY-012" not in named(without_rows(h))

    def test_a_held_request_proves_without_rows_that_the_original_pends(self) -> None:
        assert met(without_rows(history(BESIDE_DUPLICATE)), "REPLAY-012") == {"while-pending"}

    def test_without_rows_nobody_can_say_that_nothing_was_reserved(self) -> None:
        assert "before-reservation" in met(history(BEFORE), "REPLAY-012")
        assert "before-reservation" not in met(without_rows(history(BEFORE)), "REPLAY-012")
