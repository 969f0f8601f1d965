"""The reference connector runtime, driven by hand through the in-process carrier: what a reader would try first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.carriers.inprocess import InProcessCarrier
from conformance.families.connector_push.commands import delete, operate, save, work, write
from conformance.families.connector_push.config import (
    ASSOCIATION,
    ASYNC,
    CONFIG,
    FAMILY,
    PAST_LEASE_MS,
    REPLAY,
    REPLAY_EDITED,
    ROTATED,
)
from conformance.families.connector_push.contract import PushContract
from conformance.history import History
from conformance.search.execute import Execution
from conformance.search.program import RESTART, Op, Program, kill, recover, script, start, time
from reference_impl.driver import Reference


def run(config: Mapping[str, Any], *ops: Op) -> History:
    program = Program("by-hand", FAMILY, config, ops, {})
    return Execution(program, InProcessCarrier("reference", Reference), PushContract).run()


def rows(history: History) -> Mapping[str, list[dict[str, Any]]]:
    *_, last = history.of("rows")
    kinds: Mapping[str, list[dict[str, Any]]] = last.data["kinds"]
    return kinds


def answers(history: History) -> list[Any]:
    return [e.data["result"] for e in history.of("answer")]


def requests(history: History) -> list[Mapping[str, Any]]:
    return [e.data for e in history.of("wire") if e.kind == "request"]


def states(history: History) -> list[str]:
    return [row["state"] for row in rows(history)["attempts"]]


def test_a_save_creates_links_and_mirrors() -> None:
    history = run(CONFIG, start("w1"), write("w1", "r1"), save("w1", "r1"), save("w1", "r1"))
    (link,) = rows(history)["links"]
    (record,) = rows(history)["records"]
    assert (link["state"], link["remote_id"], link["mirror"]) == ("finalized", "x1", "written")
    assert record["fields"]["RemoteId"] == "x1"
    assert states(history) == ["finalized"]
    assert [a["pushes"][0]["status"] for a in answers(history)[1:]] == ["finalized", "linked"]
    assert len(requests(history)) == 1


def test_every_state_is_logged_in_order() -> None:
    history = run(CONFIG, start("w1"), write("w1", "r1"), save("w1", "r1"))
    moves = [(e["entity"], e["to_state"]) for e in rows(history)["status_log"]]
    assert moves == [
        ("create_attempt", "pending"),
        ("create_attempt", "processing"),
        ("create_attempt", "post_sent"),
        ("create_attempt", "writeback_commit_pending"),
        ("create_attempt", "writeback_pending"),
        ("remote_link", "finalized"),
        ("create_attempt", "finalized"),
    ]


def test_a_lost_response_is_never_followed_by_another_post() -> None:
    history = run(
        CONFIG, script("apply-then-drop"), start("w1"), write("w1", "r1"), save("w1", "r1"), save("w1", "r1"),
        RESTART, start("w2"), time(PAST_LEASE_MS), recover("w2"), work("w2"), save("w2", "r1"),
    )  # fmt: skip
    assert len(requests(history)) == 1
    assert states(history) == ["ambiguous_remote_effect"]


def test_reconciliation_brings_an_ambiguous_attempt_home() -> None:
    history = run(
        CONFIG, script("apply-then-drop"), start("w1"), write("w1", "r1"), save("w1", "r1"),
        operate("w1", "reconcile", "r1", remote_id="x77"), work("w1"),
    )  # fmt: skip
    assert states(history) == ["finalized"]
    assert rows(history)["links"][0]["remote_id"] == "x77"
    assert rows(history)["records"][0]["fields"]["RemoteId"] == "x77"
    assert len(requests(history)) == 1


def test_a_rejection_blocks_until_somebody_supersedes_it() -> None:
    history = run(
        CONFIG, script("definite-refusal"), start("w1"), write("w1", "r1"), save("w1", "r1"), save("w1", "r1"),
        operate("w1", "supersede", "r1"), save("w1", "r1"),
    )  # fmt: skip
    assert [a["pushes"][0]["status"] for a in answers(history) if "pushes" in a] == ["failed", "blocked", "finalized"]
    assert [(r["state"], r["ordinal"]) for r in rows(history)["attempts"]] == [("superseded", 1), ("finalized", 2)]
    assert len({r["idempotency_key"] for r in rows(history)["attempts"]}) == 2


def test_a_locked_record_delays_the_mirror_alone() -> None:
    history = run(
        CONFIG, start("w1"), write("w1", "r1", locked=True), save("w1", "r1"), work("w1"),
        write("w1", "r1"), work("w1"),
    )  # fmt: skip
    assert states(history) == ["finalized"]
    assert rows(history)["links"][0]["mirror"] == "written"
    assert len(requests(history)) == 1


def test_an_exhausted_mirror_is_terminal_and_keeps_its_link() -> None:
    history = run(
        CONFIG, start("w1"), write("w1", "r1", locked=True), save("w1", "r1"), work("w1"), work("w1"), work("w1"),
        operate("w1", "supersede", "r1"), save("w1", "r1"),
    )  # fmt: skip
    assert states(history) == ["terminal_failed"]
    assert rows(history)["links"][0]["state"] == "finalized"
    assert answers(history)[-2] == {"status": "refused", "reason": "remote_id_known"}
    assert len(requests(history)) == 1


def test_a_source_deleted_before_the_first_post_fails_the_attempt_unsent() -> None:
    history = run(ASYNC, start("w1"), write("w1", "r1"), save("w1", "r1"), delete("w1", "r1"), work("w1"))
    (attempt,) = rows(history)["attempts"]
    assert (attempt["state"], attempt["reason"], attempt["io_started_at"]) == ("terminal_failed", "source_gone", None)
    assert requests(history) == []


def test_a_rotated_credential_holds_a_reserved_attempt() -> None:
    history = run(ASYNC, start("w1"), write("w1", "r1"), save("w1", "r1"), start("w2", ROTATED), work("w2"), work("w1"))
    assert [a.get("counts") for a in answers(history)[-2:]] == [{"held": 1}, {"finalized": 1}]
    assert len(requests(history)) == 1


def test_a_contract_permits_the_same_bytes_again() -> None:
    history = run(
        REPLAY, script("apply-then-drop"), start("w1"), write("w1", "r1"), save("w1", "r1"), work("w1"),
        write("w1", "r1", Name="another name"), start("w2", REPLAY_EDITED), work("w2"),
    )  # fmt: skip
    first, second = requests(history)
    assert first["key"] is not None
    assert [first[m] for m in ("path", "digest", "key")] == [second[m] for m in ("path", "digest", "key")]
    assert states(history) == ["finalized"]


def test_an_expired_claim_without_checkpoint_returns_to_pending_and_is_sent_once() -> None:
    pause = Op("arm", {"proc": "w1", "point": "dispatch.checkpoint:begin", "nth": 1, "action": "pause"})
    history = run(
        ASYNC, start("w1"), write("w1", "r1"), save("w1", "r1"), pause, work("w1"),
        time(PAST_LEASE_MS), start("w2"), work("w2"), Op("resume", {"proc": "w1"}),
    )  # fmt: skip
    assert [(r["conn"]) for r in requests(history)] == [1]
    assert states(history) == ["finalized"]


def test_an_answer_that_comes_after_the_lease_is_kept_and_moves_nothing() -> None:
    history = run(
        ASYNC, script("hold"), start("w1"), write("w1", "r1"), save("w1", "r1"), work("w1"),
        time(PAST_LEASE_MS), start("w2"), work("w2"),
        Op("release", {"proc": "w1", "behaviour": {"kind": "success"}}), work("w2"),
    )  # fmt: skip
    (attempt,) = rows(history)["attempts"]
    assert (attempt["state"], attempt["late_remote_id"]) == ("ambiguous_remote_effect", "x1")
    assert rows(history)["links"] == []


def test_one_remote_id_for_two_records_links_only_the_first() -> None:
    twice = {"kind": "success", "identity": "x9"}
    history = run(
        CONFIG, script(twice, twice), start("w1"), write("w1", "r1"), write("w1", "r2"),
        save("w1", "r1"), save("w1", "r2"), save("w1", "r2"),
    )  # fmt: skip
    assert [row["record"] for row in rows(history)["links"]] == ["r1"]
    second = rows(history)["attempts"][1]
    assert (second["state"], second["remote_id"], second["reason"]) == ("terminal_failed", "x9", "locator_conflict")
    assert len(requests(history)) == 2


def test_a_child_waits_for_its_target_and_goes_out_with_its_id() -> None:
    history = run(
        ASSOCIATION, start("w1"), write("w1", "a1", source_object="Account"), write("w1", "c1", AccountId="a1"),
        save("w1", "c1"), work("w1", "narrow"), save("w1", "a1", "Account"), work("w1", "narrow"),
    )  # fmt: skip
    assert [r["path"] for r in requests(history)] == ["/v1/accounts", "/v1/contacts"]
    assert [r["lane"] for r in rows(history)["attempts"]] == ["deferred_association", "configured"]
    assert states(history) == ["finalized", "finalized"]


def test_a_crash_after_the_id_is_durable_resumes_the_writeback() -> None:
    crash = Op("arm", {"proc": "w1", "point": "dispatch.capture:committed", "nth": 1, "action": "pause"})
    history = run(
        CONFIG, start("w1"), write("w1", "r1"), crash, save("w1", "r1"), kill("w1"),
        start("w2"), time(PAST_LEASE_MS), work("w2"), save("w2", "r1"),
    )  # fmt: skip
    assert states(history) == ["finalized"]
    assert len(requests(history)) == 1


def test_what_is_not_built_says_so() -> None:
    history = run(CONFIG, start("w1"), Op("call", {"proc": "w1", "cmd": "push.adopt", "args": {}}))
    (answer,) = [e.data for e in history.of("answer")]
    assert (answer["outcome"], answer["feature"]) == ("unsupported", "push.adopt")
