"""Who is in a generation and who is not: boundaries, comparisons, older rows, replays (GEN)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from conformance.checkers.base import Finding, Judge, Met, Violation
from conformance.checkers.settle.generation import (
    Case,
    Wrong,
    before,
    cases,
    foreign_between,
    inverted,
    marks,
    opens_the_lane,
    wrongs,
)
from conformance.checkers.settle.index import Index
from conformance.checkers.settle.modes import rows_of_deliveries_come_together
from conformance.checkers.settle.registry import CHECKERS
from conformance.checkers.settle.stored import Stored

Premise = Callable[[Index, Case], Iterator[str]]


def violation(wrong: Wrong) -> Violation:
    """What a wrong row of an input says."""
    case, row = wrong.case, wrong.row
    bound = "no boundary" if case.boundary is None else f"boundary {case.boundary.id} ({case.boundary.state})"
    allowed = f"row {row.id} {'in' if wrong.missing else 'not in'} the input of head {case.head.id}, {bound}"
    happened = f"the input was {', '.join(map(str, case.taken)) or 'empty'}"
    return Violation(allowed, happened, case.read.until, "answer")


def member_checker(requirement: str, also: Judge | None = None) -> Callable[[Premise], Premise]:
    """Register a checker of membership: the premise says which cells an input meets, the blame is in ``generation``.

    ``also`` judges what no input shows.
    """

    def register(premise: Premise) -> Premise:
        def judge(index: Index) -> Iterator[Finding]:
            for case in cases(index):
                yield from (Met(cell) for cell in dict.fromkeys(premise(index, case)))
            yield from (violation(wrong) for wrong in wrongs(index, requirement))
            yield from also(index) if also is not None else ()

        CHECKERS.checker(requirement, "suite", "answer", "rows")(judge)
        return premise

    return register


def others(case: Case) -> Iterator[Stored]:
    """The rows of the lane besides the head that no ended generation has consumed."""
    return (e for e in case.rows.values() if e.id != case.head.id and e.id not in case.consumed)


# -- the two comparisons -------------------------------------------------------------------------------------------


@member_checker("GEN-003")
def stamped_pairs_by_ordinal(_: Index, case: Case) -> Iterator[str]:
    """Where both rows are stamped, membership compares ordinals, whatever ingress says."""
    for x in others(case):
        if inverted(x, case.head):
            yield "in" if before(x, case.head) else "out"


@member_checker("GEN-004")
def zero_pairs_by_ingress(_: Index, case: Case) -> Iterator[str]:
    """Where one of them has no ordinal, membership compares ingress keys."""
    for x in others(case):
        if not x.ordinal:
            yield "zero-before" if before(x, case.head) else "zero-after"
        elif not case.head.ordinal:
            yield "stamped-before-zero-head" if before(x, case.head) else "stamped-after-zero-head"
        yield from _lower_end(case, x)


def _lower_end(case: Case, x: Stored) -> Iterator[str]:
    """How a row that precedes the head stands to the boundary, where ingress decides at both ends."""
    b = case.boundary
    if b is None or not before(x, case.head):
        return
    where = "after" if before(b, x) else "before"
    if not x.ordinal:
        yield f"zero-{where}-boundary"
    elif not b.ordinal and not case.head.ordinal:
        yield f"stamped-{where}-zero-boundary"


@member_checker("GEN-005")
def each_comparison_has_its_own_key(_: Index, case: Case) -> Iterator[str]:
    """Boundary with row and row with head are two comparisons, each choosing its key from its own two rows."""
    for x in others(case):
        b = case.boundary
        if b is not None and not case.head.ordinal and before(x, case.head) and inverted(b, x):
            yield "in" if before(b, x) else "out"


@member_checker("GEN-042")
def zero_heads_admit_no_later_row(_: Index, case: Case) -> Iterator[str]:
    """A head without an ordinal admits no stamped row that came later."""
    if not case.head.ordinal and any(x.ordinal and before(case.head, x) for x in others(case)):
        yield "later-stamped"
        for x in others(case):
            if x.ordinal and before(case.head, x) and x.key.created == case.head.key.created:
                yield "same-date" if x.key.sequence > case.head.key.sequence else "same-sequence"


@member_checker("GEN-043")
def equal_ordinals_by_id(_: Index, case: Case) -> Iterator[str]:
    """Equal positive ordinals at either end are decided by Id."""
    b = case.boundary
    for x in others(case):
        if b is not None and x.ordinal and x.ordinal == b.ordinal and case.head.ordinal and before(x, case.head):
            yield "after-boundary" if before(b, x) else "before-boundary"
        if x.ordinal and x.ordinal == case.head.ordinal:
            yield "smaller-id" if before(x, case.head) else "larger-id"


@member_checker("GEN-032")
def without_a_boundary(index: Index, case: Case) -> Iterator[str]:
    """Where nothing was executed, the generation has no lower bound: neither for rows that wait nor for older skips."""
    if case.boundary is None and len(case.must) > 1:
        yield "fresh-lane"
    if any(opens_the_lane(index, case, case.rows[id_]) for id_ in case.must):
        yield "older-skip"


@member_checker("GEN-033")
def foreign_rows_bound_nothing(index: Index, case: Case) -> Iterator[str]:
    """Executed rows of another source or route are no boundary."""
    for x in others(case):
        if x.id in case.must:
            for foreign in foreign_between(index, case, x):
                yield "other-source" if foreign.lane[0] == case.lane[0] else "other-route"


# -- ended generations ---------------------------------------------------------------------------------------------


def _after(case: Case, state: str) -> bool:
    """Whether the boundary ended so, and consumed more than itself."""
    return case.boundary is not None and case.boundary.state == state


@member_checker("GEN-007")
def dead_ends_a_generation(index: Index, case: Case) -> Iterator[str]:
    """Nothing of a generation whose head died is an input again."""
    if not _after(case, "dead") or case.boundary is None or case.boundary.raw["replayed_by"] is not None:
        return
    siblings = [id_ for id_, heads in case.consumed.items() if case.boundary.id in heads and id_ != case.boundary.id]
    reports = [f for a in index.of_head.get(case.boundary.id, ()) for f in a.finishes]
    if siblings and reports:
        yield "fatal" if reports[-1].args["outcome"] == "fatal" else "budget-spent"
    elif siblings:
        yield "leases-lost"


@member_checker("GEN-029")
def processed_ends_a_generation(index: Index, case: Case) -> Iterator[str]:
    """Nothing of a generation whose head was processed is an input again, with or without a token on that head."""
    if _after(case, "processed") and case.boundary is not None and case.boundary.raw["replayed_by"] is None:
        if case.boundary.id in index.loaded and case.boundary.token is None and case.boundary.id in index.born_ended:
            yield "older-without-token"
        elif any(case.boundary.id in heads and id_ != case.boundary.id for id_, heads in case.consumed.items()):
            yield "processed"


@member_checker("GEN-039")
def an_executed_skip_ends_a_generation(index: Index, case: Case) -> Iterator[str]:
    """Nothing of a generation that was executed as a skip is an input again; the next keeps its own siblings."""
    if not _after(case, "skipped") or case.boundary is None or case.boundary.id in index.born_ended:
        return
    if len(case.must) > 1 and _siblings(case, case.boundary):
        yield "own-siblings-kept"


@member_checker("GEN-041")
def older_skips_are_told_apart(index: Index, case: Case) -> Iterator[str]:
    """Among rows of an older version an executed skip bounds, and failed skips after it are inputs."""
    older = _after(case, "skipped") and case.boundary is not None and case.boundary.id in index.born_ended
    if older and any(index.births[id_].event.collapsed for id_ in case.must):
        yield "seeded"
        if case.boundary is not None and not case.boundary.ordinal:
            yield "without-ordinal"


def _older(index: Index, case: Case, requirement: str) -> Iterator[str]:
    for id_ in case.must:
        born = index.births[id_].event
        earlier = (x for x in case.must if x != id_)
        if id_ in index.loaded and marks(born) == requirement and any(before(case.rows[x], born) for x in earlier):
            yield "with-earlier-sibling"


@member_checker("GEN-010")
def token_with_error_is_no_boundary(index: Index, case: Case) -> Iterator[str]:
    """A skipped row with a token and LastError is an input, and so is what precedes it."""
    return _older(index, case, "GEN-010")


@member_checker("GEN-011")
def no_token_is_no_boundary(index: Index, case: Case) -> Iterator[str]:
    """A skipped row without token and LastError is an input, and so is what precedes it."""
    return _older(index, case, "GEN-011")


@member_checker("GEN-012")
def error_alone_is_no_boundary(index: Index, case: Case) -> Iterator[str]:
    """A skipped row with LastError alone is an input."""
    return _older(index, case, "GEN-012")


# -- replays -------------------------------------------------------------------------------------------------------


def _replayed(index: Index, case: Case) -> tuple[Stored, Stored] | None:
    """(original, fresh row) where the boundary was replayed and its fresh row is in this generation."""
    if case.boundary is None:
        return None
    fresh = index.last.events.get(case.boundary.raw["replayed_by"] or 0)
    return (case.boundary, fresh) if fresh is not None and fresh.id in case.must else None


def _failed_before(index: Index, case: Case, fresh: Stored) -> bool:
    return any(a.number < case.attempt.number and a.finishes for a in index.of_head.get(fresh.id, ()))


def _siblings(case: Case, original: Stored) -> bool:
    return any(original.id in heads and id_ != original.id for id_, heads in case.consumed.items())


def _fresh_after_its_original(state: str) -> Judge:
    """The judge of the keys of fresh rows: each stands behind its original."""

    def judge(index: Index) -> Iterator[Finding]:
        for event in index.last.events.values():
            fresh = index.last.events.get(event.raw["replayed_by"] or 0)
            if fresh is not None and event.state == state and not before(event, fresh):
                happened = f"its ordinal is {fresh.ordinal}, that of the original {event.ordinal}"
                seq = index.births[fresh.id].seq
                yield Violation(f"fresh row {fresh.id} behind its original {event.id}", happened, seq, "rows")

    return judge


@member_checker("GEN-021", _fresh_after_its_original("dead"))
def a_dead_replay_begins_a_generation(index: Index, case: Case) -> Iterator[str]:
    """The fresh row of a dead original opens the next generation; neither the original nor its siblings are inputs."""
    found = _replayed(index, case)
    if found is not None and found[0].state == "dead" and not _failed_before(index, case, found[1]):
        yield "with-siblings" if _siblings(case, found[0]) else "alone"


@member_checker("GEN-022", _fresh_after_its_original("processed"))
def a_processed_replay_begins_a_generation(index: Index, case: Case) -> Iterator[str]:
    """The same for a processed original, and for an executed skip where those can be replayed."""
    found = _replayed(index, case)
    if found is not None and found[0].state == "processed" and not _failed_before(index, case, found[1]):
        yield "with-siblings" if _siblings(case, found[0]) else "alone"


@member_checker("GEN-037")
def the_replayed_original_stays_the_checkpoint(index: Index, case: Case) -> Iterator[str]:
    """Dead, replayed, retried after a backoff, then a successor: the original still is the boundary."""
    found = _replayed(index, case)
    if found is not None and found[0].state == "dead" and _failed_before(index, case, found[1]):
        yield "successor" if case.head.id != found[1].id else "retry"


# -- deliveries, retries, late rows --------------------------------------------------------------------------------


@member_checker("GEN-025")
def a_delivery_pulls_nothing_in(_: Index, case: Case) -> Iterator[str]:
    """A shared DeliveryId pulls no row over a boundary."""
    for id_, heads in case.consumed.items():
        shared = case.rows[id_].raw["delivery"] == case.head.raw["delivery"]
        if shared and case.boundary is not None and case.boundary.id in heads and id_ != case.boundary.id:
            yield "far-side"


@member_checker("GEN-026", rows_of_deliveries_come_together)
def deliveries_belong_together(index: Index, case: Case) -> Iterator[str]:
    """Rows of several deliveries between boundary and head come in one invocation."""
    if len({case.rows[id_].raw["delivery"] for id_ in case.must if id_ not in index.loaded}) > 1:
        yield "after-boundary" if case.boundary is not None else "two-deliveries"


@member_checker("GEN-014")
def retries_keep_their_siblings(index: Index, case: Case) -> Iterator[str]:
    """Collapsed rows stay inputs when the head is retried, after a failure or a lost lease."""
    earlier = [a for a in index.of_head[case.head.id] if a.number < case.attempt.number]
    if earlier and len(case.must) > 1 and any(case.rows[id_].collapsed for id_ in case.must):
        if any(f.args["outcome"] == "retryable" for f in earlier[-1].finishes):
            yield "after-failure"
        elif not earlier[-1].finishes:
            yield "after-lost-lease"


@member_checker("GEN-034")
def failed_rows_bound_nothing(index: Index, case: Case) -> Iterator[str]:
    """A row that waits for its retry is no boundary."""
    known = index.before(case.attempt.claim.seq)
    for x in case.must:
        row = known.events.get(x)
        if row is None or not row.open or x == case.head.id or len(case.must) < 3:
            continue
        if index.tried(row, case.attempt.claim.seq):
            # What a lost lease leaves in LastError is open, so it is no sign of a failure.
            lost = row.error is None or index.lease_lost(row.id, case.attempt.claim.seq)
            yield "lease-lost" if lost else "failed"


@member_checker("GEN-028")
def the_input_is_complete(index: Index, case: Case) -> Iterator[str]:
    """No raw Event between boundary and head is missing, head included, whoever collapsed it."""
    known = index.before(case.attempt.claim.seq)
    for x in case.must:
        row = known.events.get(x)
        if row is not None and row.collapsed and case.first is case.attempt and x not in index.born_ended:
            yield "collapsed-earlier"
        elif row is not None and row.state == "pending" and x != case.head.id and case.boundary is not None:
            yield "after-boundary"


@member_checker("GEN-030")
def successors_stay_out(index: Index, case: Case) -> Iterator[str]:
    """A row that came in behind the head after its selection is no input of it."""
    for x in others(case):
        born = index.births[x.id].seq
        if before(case.head, x) and case.first.claim.until < born:
            yield "before-input" if case.attempt.claim.until < born else "before-retry"


def _readmitted(case: Case) -> Iterator[str]:
    """How the heads ended whose consumed rows the two comparisons would take in once more."""
    for id_, heads in case.consumed.items():
        if id_ not in heads and case.admits(case.rows[id_]):
            yield from (case.rows[head].state for head in heads if head in case.rows)


#: The cell of GEN-044 by how the head ended that had consumed the row.
_ON_A_CYCLE: Final = {"processed": "cyclic", "dead": "cyclic-dead", "skipped": "cyclic-skipped"}


@member_checker("GEN-044")
def consumed_rows_stay_out_on_a_cycle(_: Index, case: Case) -> Iterator[str]:
    """A consumed row does not come back where a cycle would admit it."""
    if case.cyclic:
        yield from (_ON_A_CYCLE[state] for state in _readmitted(case))


@member_checker("GEN-046")
def consumed_rows_stay_out_of_late_generations(_: Index, case: Case) -> Iterator[str]:
    """Nor where a late row that compares before the ended head becomes a head itself."""
    for state in () if case.cyclic else _readmitted(case):
        if state == "processed":
            yield "no-boundary" if case.boundary is None else "after-boundary"
        else:
            yield state


@member_checker("GEN-047")
def collapsed_rows_are_not_consumed(index: Index, case: Case) -> Iterator[str]:
    """A row collapsed into an open head is kept, though an ended head's comparisons admit it."""
    known = index.before(case.attempt.claim.seq)
    for x in case.must:
        row = known.events.get(x)
        if row is None or not row.collapsed or case.attempt is case.first:
            continue
        if any(e.executed and before(case.head, e) and before(row, e) for e in case.rows.values()):
            yield "retry-of-a-late-head"
