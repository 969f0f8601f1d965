"""Deliveries and what they store: once however often they come, with a row on each route that takes them (SETTLE)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.settle.index import Index
from conformance.checkers.settle.registry import CHECKERS
from conformance.checkers.settle.stored import View
from conformance.checkers.timeline import Command


def deliveries(index: Index) -> Iterator[tuple[Command, int]]:
    """(delivery, how often it had been sent before) for every one that was answered as stored."""
    sent: Counter[str] = Counter()
    for command in index.commands:
        if command.cmd == "lane.deliver":
            if command.result.get("status") == "stored":
                yield command, sent[command.args["delivery"]]
            sent[command.args["delivery"]] += 1


def _rows_of(view: View, delivery: str) -> Counter[tuple[int, str]]:
    """(DeliverySequence, route) -> how many rows."""
    rows = (e for e in view.events.values() if e.raw["delivery"] == delivery)
    return Counter((e.raw["sequence"], e.raw["route"]) for e in rows)


def excluded(index: Index, delivery: str, seq: int) -> bool:
    """Whether a row of a delivery had been left out of an execution of its lane that ran when it was there."""
    for birth in index.births.values():
        if birth.event.raw["delivery"] != delivery:
            continue
        for attempt in index.attempts:
            taken = attempt.input
            same = index.lane_of(attempt.head) == birth.event.lane
            if same and taken is not None and birth.seq < attempt.reads[-1].until < seq and birth.event.id not in taken:
                return True
    return False


@CHECKERS.checker("SETTLE-031", "suite", "answer", "rows")
def a_delivery_is_stored_once(index: Index) -> Iterator[Finding]:
    """The same delivery again, by whichever path, adds what is not stored yet, and nothing else."""
    for command, times in deliveries(index):
        delivery = command.args["delivery"]
        if not times or excluded(index, delivery, command.seq):
            continue
        lost = _struck(index, command, "lose-ack")
        yield Met("lost-bulk" if lost and command.args["path"] == "fallback" else "again")
        stored = [e for e in index.before(command.seq).events.values() if e.raw["delivery"] == delivery]
        if stored and not any(e.open for e in stored) and all(index.settled(e.lane) for e in stored):
            yield Met("ended")
        yield from _twice(index, command)
        before = _rows_of(index.before(command.seq), delivery)
        half = 0 < len({sequence for sequence, _ in before}) < len(command.args["events"])
        if half and _struck(index, command, "fail"):
            yield Met("half-stored" if command.args["path"] == "fallback" else "half-stored-bulk")
        for sequence, route in not_stored(index, command):
            yield Violation(
                f"number {sequence} of delivery {delivery} on route {route}, where it was not stored before",
                "it is not stored, and the sender was told that it is",
                command.until,
                "rows",
            )


def _struck(index: Index, command: Command, action: str) -> bool:
    """Whether such a fault struck an earlier sending of the same delivery."""
    return any(
        f.action == action and f.command is not None and f.command.args.get("delivery") == command.args["delivery"]
        for f in index.faults
        if f.seq < command.seq
    )


def not_stored(index: Index, command: Command) -> Iterator[tuple[int, str]]:
    """(DeliverySequence, route) of the Events that one route takes and that have no row after they were acknowledged.

    Events that several routes take are asked for elsewhere.
    """
    rows = _rows_of(index.result_view(command), command.args["delivery"])
    for sequence, event in enumerate(command.args["events"]):
        routes = index.routes_of(event["kind"])
        if len(routes) == 1 and not rows[(sequence, routes[0]["id"])]:
            yield sequence, routes[0]["id"]


def _twice(index: Index, command: Command) -> Iterator[Violation]:
    rows = _rows_of(index.result_view(command), command.args["delivery"])
    doubled = [key for key, count in rows.items() if count > 1]
    if doubled:
        yield Violation(
            f"one row for each Event of delivery {command.args['delivery']} on each route",
            f"number {doubled[0][0]} is {rows[doubled[0]]} rows on route {doubled[0][1]}",
            command.until,
            "rows",
        )


@CHECKERS.checker("GEN-035", "suite", "answer", "rows")
def leaving_out_changes_no_identity(index: Index) -> Iterator[Finding]:
    """A row that a generation left out is deduplicated like any other."""
    for command, times in deliveries(index):
        if times and excluded(index, command.args["delivery"], command.seq):
            yield Met("sent-again")
            yield from _twice(index, command)


@CHECKERS.checker("SETTLE-044", "suite", "answer", "rows")
def each_route_has_its_row(index: Index) -> Iterator[Finding]:
    """A delivery that two routes take has a row on each, before and after it is sent again."""
    for command, times in deliveries(index):
        before, rows = (
            _rows_of(v, command.args["delivery"]) for v in (index.before(command.seq), index.result_view(command))
        )
        for sequence, event in enumerate(command.args["events"]):
            routes = [r["id"] for r in index.config["routes"] if event["kind"] in r["kinds"]]
            if len(routes) < 2:
                continue
            yield Met("again" if times else "stored")
            if len({bool(before[(sequence, route)]) for route in routes}) > 1:
                yield Met("half-stored")
            missing = [route for route in routes if not rows[(sequence, route)]]
            if missing:
                yield Violation(f"a row on each of {', '.join(routes)}", f"none on {missing[0]}", command.until, "rows")
