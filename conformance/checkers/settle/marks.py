"""Marks on rows and payloads of inputs: tokens of collapsed rows, of executed skips, and raw Events unchanged (GEN)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.settle.index import Index
from conformance.checkers.settle.registry import CHECKERS
from conformance.checkers.settle.stored import Stored, View
from conformance.checkers.timeline import Command


def _newly_skipped(before: View, after: View, not_these: set[int]) -> Iterator[tuple[Stored, Stored]]:
    for id_, event in after.events.items():
        was = before.events.get(id_)
        if event.state == "skipped" and was is not None and was.open and id_ not in not_these:
            yield was, event


def _skips(index: Index, claim: Command) -> set[int]:
    """The heads whose executions may have ended as a skip while a claim was under way."""
    return {
        a.head
        for a in index.attempts
        if any(f.args["outcome"] == "skip" and f.seq < claim.until and f.until > claim.seq for f in a.finishes)
    }


@CHECKERS.checker("GEN-016", "suite", "answer", "rows")
def superseding_clears_the_lease(index: Index) -> Iterator[Finding]:
    """A row that is collapsed has no claim token, whoever had claimed it before."""
    for attempt in index.attempts:
        before, after = index.before(attempt.claim.seq), index.result_view(attempt.claim)
        for was, event in _newly_skipped(before, after, {attempt.head, *_skips(index, attempt.claim)}):
            lost = index.lease_lost(was.id, attempt.claim.seq)
            yield Met("lease-lost" if lost else "failed" if was.error is not None else "never-claimed")
            if event.token is not None:
                yield Violation(
                    f"row {event.id} collapsed without a token", f"it keeps {event.token}", attempt.claim.until, "rows"
                )


@CHECKERS.checker("GEN-017", "suite", "rows")
def no_crash_leaves_a_false_mark(index: Index) -> Iterator[Finding]:
    """No crash of a supersession leaves a collapsed row skipped with a token and without a diagnostic."""
    for fault in index.faults:
        claiming = fault.command is not None and fault.command.cmd == "lane.claim"
        if fault.action != "crash" or not claiming or fault.command is None:
            continue
        before = index.before(fault.command.seq)
        waiting = (e for e in before.events.values() if e.state == "pending")
        if any(e.token is not None or index.lease_lost(e.id, fault.command.seq) for e in waiting):
            yield Met("crash-after" if fault.point.endswith(":committed") else "crash-before")
        for was, event in _newly_skipped(before, index.after(fault.seq), _skips(index, fault.command)):
            if event.executed:
                yield Violation(
                    f"row {event.id} not skipped, or without a token",
                    f"it is skipped with {event.token}, though it was {was.state} and never executed so",
                    fault.seq,
                    "rows",
                )


@CHECKERS.checker("GEN-018", "suite", "answer", "rows")
def an_executed_skip_is_marked(index: Index) -> Iterator[Finding]:
    """Finishing as skipped keeps the token and leaves no diagnostic, also after a failed attempt."""
    for attempt in index.attempts:
        for report in attempt.finishes:
            if report.args["outcome"] != "skip" or report.result.get("status") != "recorded":
                continue
            event = index.result_view(report).events.get(attempt.head)
            was = index.before(report.seq).events.get(attempt.head)
            if event is None or was is None:
                continue
            failed = was.error is not None or len(index.of_head[attempt.head]) > 1
            yield Met("after-failure" if failed else "first-attempt")
            if attempt.input == [attempt.head]:
                yield Met("alone")
            if not event.executed or event.state != "skipped":
                yield Violation(
                    f"row {event.id} skipped, with its token and no diagnostic",
                    f"it is {event.state}, token {event.token or 'gone'}, diagnostic {event.error or 'none'}",
                    report.until,
                    "rows",
                )


@CHECKERS.checker("GEN-027", "suite", "answer", "rows")
def inputs_are_raw_events(index: Index) -> Iterator[Finding]:
    """Each stored payload of a generation appears unchanged, and once."""
    for attempt in index.attempts:
        for read in attempt.reads:
            rows = read.result.get("rows", ())
            known = index.result_view(read).events
            if len({row["payload"] for row in rows}) > 1:
                yield Met("different-payloads")
            for row in rows:
                stored = index.births[row["event"]].event.raw["payload"] if row["event"] in index.births else None
                if row["event"] in known and row["payload"] != stored:
                    yield Violation(
                        f"{stored!r} for row {row['event']}", f"the Flow got {row['payload']!r}", read.until, "answer"
                    )
            doubled = [id_ for id_, count in Counter(row["event"] for row in rows).items() if count > 1]
            if doubled:
                yield Violation(f"row {doubled[0]} once in the input", "it is there twice", read.until, "answer")
