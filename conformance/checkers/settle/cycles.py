"""The order of Flow inputs with a cycle: it is broken towards ingress, nothing else is, and always alike (ORDER)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.settle.index import Attempt, Index, ids_of
from conformance.checkers.settle.payload import Payload, inversions, payloads, shown, stored_order, wrong_pair
from conformance.checkers.settle.registry import CHECKERS
from statemachines.lanes import READINGS, components, ingress_key, ordinal_key, verdict

#: Interpretation and its readings, by the letter of the library.
READING = "Cycle broken by the ingress key"
LETTERS = {"release-and-look-again": "B", "component-by-ingress": "A", "three-row-cycles-only": "D"}


def _component(payload: Payload) -> dict[int, int]:
    return {id_: k for k, ids in enumerate(components(payload.rows)) for id_ in ids}


@CHECKERS.checker("ORDER-015", "suite", "answer", "rows")
def only_the_cycle_is_broken(index: Index) -> Iterator[Finding]:
    """Two rows on no common cycle keep their guard order, before, between and after the cycles of an input."""
    for payload in payloads(index):
        if not payload.cyclic or not payload.whole:
            continue
        component = _component(payload)
        cycles = [k for k, ids in enumerate(components(payload.rows)) if len(ids) > 1]
        for first, second in inversions(payload):
            if component[first.id] != component[second.id]:
                yield Met("pair-before-cycle" if component[second.id] < cycles[0] else "pair-after-cycle")
        wrong = [(a, b) for a, b in payload.reversed() if component[a.id] != component[b.id]]
        if wrong and len(cycles) == 1:
            yield wrong_pair(payload, *wrong[0])


@CHECKERS.checker("ORDER-019", "suite", "answer", "rows")
def cycles_are_broken_separately(index: Index) -> Iterator[Finding]:
    """Two cycles of one input are broken apart from each other."""
    for payload in payloads(index):
        component = _component(payload) if payload.whole else {}
        if len([ids for ids in components(payload.rows) if len(ids) > 1]) < 2 or not payload.whole:
            continue
        yield Met("two-cycles")
        wrong = [(a, b) for a, b in payload.reversed() if component[a.id] != component[b.id]]
        if wrong:
            yield wrong_pair(payload, *wrong[0])


@CHECKERS.checker("ORDER-016", "suite", "answer", "rows")
def cycles_are_broken_towards_ingress(index: Index) -> Iterator[Finding]:
    """Inside a cycle no pair is reversed on which both keys agree; and a cycle costs no row."""
    for payload in payloads(index):
        if not payload.cyclic or not payload.whole:
            continue
        component = _component(payload)
        sizes = [len(ids) for ids in components(payload.rows)]
        yield Met("three-rows" if 3 in sizes else "more-rows")
        for a, b in payload.reversed():
            if component[a.id] == component[b.id] and ingress_key(a) < ingress_key(b):
                yield wrong_pair(payload, a, b)
                break
    yield from _broken_off(index)


def _broken_off(index: Index) -> Iterator[Violation]:
    """Inputs of claimed heads that lack rows of a cycle that were collapsed into them, or that never come."""
    struck = {f.command.seq for f in index.faults if f.command is not None}
    for attempt in index.attempts:
        lane = index.lane_of(attempt.head)
        if lane is None or not index.settled(lane):
            continue
        before, after = index.before(attempt.claim.seq), index.result_view(attempt.claim)
        known = before.events
        taken = [e for e in after.lane(lane) if e.collapsed and e.id in known and known[e.id].open]
        cycle = [id_ for ids in components(e.key for e in taken) if len(ids) > 1 for id_ in ids]
        for command in index.commands if cycle else ():
            mine = command.cmd == "lane.input" and command.proc == attempt.proc and command.seq > attempt.claim.seq
            if mine and attempt.claim.until < command.seq < _until(index, attempt):
                told = set(ids_of(command))
                if command.outcome == "done" and command.result.get("status") == "read" and not set(cycle) <= told:
                    yield Violation(
                        f"rows {', '.join(map(str, cycle))} of a cycle in the input of head {attempt.head}",
                        f"the input was {', '.join(map(str, ids_of(command))) or 'empty'}",
                        command.until,
                        "answer",
                    )
                elif command.result.get("status") == "unavailable" and command.seq not in struck:
                    yield Violation(f"an input for head {attempt.head}", "none", command.until, "answer")


def _until(index: Index, attempt: Attempt) -> int:
    later = (a.claim.seq for a in index.attempts if a.proc == attempt.proc and a.number > attempt.number)
    return min([*later, *(f.seq for f in attempt.finishes)], default=1 << 60)


@CHECKERS.checker("ORDER-009", "suite", "answer", "rows")
def the_read_order_does_not_matter(index: Index) -> Iterator[Finding]:
    """Two lanes of one cycle with the same keys, their rows stored in other orders, come out alike."""
    shapes: dict[tuple[object, ...], list[tuple[Payload, list[int]]]] = defaultdict(list)
    orders = stored_order(index)
    for payload in payloads(index):
        if not payload.cyclic or not payload.whole:
            continue
        lane = sorted(payload.rows, key=ingress_key)
        ranks = {r.id: i for i, r in enumerate(sorted(lane, key=ordinal_key))}
        shape = tuple((ranks[r.id] if r.ordinal else None) for r in lane)
        place = {r.id: i for i, r in enumerate(lane)}
        shapes[shape].append((payload, [place[id_] for id_ in payload.sequence]))
    for found in shapes.values():
        by_lane = {p.lane: (p, order) for p, order in found}
        if len(by_lane) < 2:
            continue
        stored = {tuple(orders.get(r.id, 0) for r in sorted(p.rows, key=ingress_key)) for p, _ in by_lane.values()}
        if len({_pattern(s) for s in stored}) > 1:
            yield Met("stored-otherwise")
        (one, first), *rest = by_lane.values()
        for two, second in rest:
            if first != second:
                yield Violation(
                    f"the order of lane {'/'.join(one.lane)}, {shown(one)}, for the same keys",
                    f"lane {'/'.join(two.lane)} came as {shown(two)}",
                    two.read.until,
                    "answer",
                )


def _pattern(values: tuple[int, ...]) -> tuple[int, ...]:
    ranked = sorted(values)
    return tuple(ranked.index(v) for v in values)


@CHECKERS.checker("ORDER-014", "suite", "answer", "rows")
def a_retry_has_the_same_order(index: Index) -> Iterator[Finding]:
    """A further attempt over the same rows, of whichever worker, has the same order."""
    known: dict[tuple[int, frozenset[int]], Payload] = {}
    for payload in payloads(index):
        key = (payload.attempt.head, frozenset(payload.sequence))
        first = known.setdefault(key, payload)
        if first.attempt is payload.attempt:
            continue
        if payload.cyclic:
            yield Met("another-worker" if first.attempt.proc != payload.attempt.proc else "same-worker")
        if first.sequence != payload.sequence:
            yield Violation(
                f"the order of the attempt before, {shown(first)}", shown(payload), payload.read.until, "answer"
            )


@CHECKERS.checker("ORDER-022", "suite", "answer", "rows")
def the_declared_reading_is_held(index: Index) -> Iterator[Finding]:
    """Where the axioms leave a choice, the order is that of the declared reading; of the normative one without any."""
    declared = index.readings.get(READING, "release-and-look-again")
    letter = LETTERS.get(declared)
    if letter is None:
        return
    for payload in payloads(index):
        if not payload.cyclic or not payload.whole or not verdict(payload.rows, payload.sequence).ok:
            continue
        wanted = READINGS[letter](payload.rows)
        if len({tuple(read(payload.rows)) for read in READINGS.values()}) > 1:
            yield Met("readings-differ")
        if list(payload.sequence) != wanted:
            yield Violation(
                f"{', '.join(map(str, wanted))} under reading {letter}", shown(payload), payload.read.until, "answer"
            )
