"""First set of deviations of the settle lanes, part three: orders and memberships of the golden lanes, and keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from graphlib import CycleError
from typing import Any, Final

from conformance.kit import Ports, Setup
from reference_impl.deviations.wrong_orders import MEMBERSHIPS, SEQUENCES, replay_lane_then_filter
from reference_impl.planting import HOST, Collection
from reference_impl.settle.claim import Claimer, Reaper
from reference_impl.settle.enqueue import Enqueuer, Incoming
from reference_impl.settle.flow import Finisher, Reader
from reference_impl.settle.lane import Lane
from reference_impl.settle.model import EVENT_SQL, Event, Held
from reference_impl.settle.runtime import Lanes
from reference_impl.store import Row, Store, Transaction
from statemachines.lanes import READINGS, Id, ingress_key
from statemachines.lanes import Row as Key
from statemachines.spec import Spec

ORDER = Collection("settle-lanes")

#: Wrong order -> the requirement that it breaks; the names are those of the golden lanes.
ORDERS: Final[Mapping[str, str]] = {
    "ordinal-sort": "ORDER-006",
    "zero-rows-first": "ORDER-002",
    "zero-rows-last": "ORDER-002",
    "ingress-sort": "ORDER-001",
    "lane-switch": "ORDER-010",
    "zero-zero-by-id": "ORDER-007",
    "created-then-id": "ORDER-004",
    "created-only": "ORDER-004",
    "sequence-first": "ORDER-003",
    "no-ingress-id": "ORDER-005",
    "no-ordinal-tie": "ORDER-001",
    "ordinal-tie-by-ingress": "ORDER-001",
    "text-compare": "ORDER-005",
    "comparator-sort": "ORDER-009",
    "insertion": "ORDER-016",
    "raise-on-cycle": "ORDER-016",
    "drop-cycle": "ORDER-016",
    "whole-lane-fallback": "ORDER-015",
    "dump-rest": "ORDER-019",
    "dump-rest-ordinal": "ORDER-016",
    "break-by-ordinal": "ORDER-016",
    "break-by-stamped-ordinal": "ORDER-016",
    "break-by-id": "ORDER-016",
    "break-at-last": "ORDER-016",
    "break-by-input": "ORDER-009",
    "break-by-created": "ORDER-016",
    "components-by-ingress": "ORDER-015",
    "two-chains": "ORDER-011",
}


class _OtherOrder(Reader):
    """Reads the right rows as they were stored and hands them to the Flow in another order."""

    order: Callable[[list[Key]], list[Id]]

    def members(self, held: Held) -> list[Event]:
        sql = f"{EVENT_SQL} WHERE e.event = ? OR (w.served = ? AND e.state = 'skipped') ORDER BY w.item"
        return [Event.from_row(row) for row in self._store.read("input.read", sql, (held.event, held.event))]

    def read(self, held: Held) -> dict[str, Any]:
        said = super().read(held)
        if said["status"] != "read" or len(said["rows"]) < 2:
            return said
        by_id = {row["event"]: row for row in said["rows"]}
        stored = [e.key for e in self.members(held) if e.id in by_id]
        try:
            return {**said, "rows": [by_id[id_] for id_ in type(self).order(stored)]}
        except CycleError:
            return {"status": "unavailable"}


def _order(id_: str, names: str, purpose: str, order: Callable[[list[Key]], list[Id]]) -> None:
    made = type(f"Order_{id_}", (_OtherOrder,), {"order": staticmethod(order), "__doc__": purpose})
    ORDER.plant(id_, names=names, part="reader")(made)


for _name, _names in ORDERS.items():
    _order(f"order-{_name}", _names, f"Replays a generation wrongly: {_name.replace('-', ' ')}.", SEQUENCES[_name])


def _ordinal_where_mixed(rows: list[Key]) -> list[Id]:
    """Right for rows of one kind; a mixed generation is sorted by ordinal."""
    mixed = any(r.ordinal for r in rows) and not all(r.ordinal for r in rows)
    return SEQUENCES["ordinal-sort"](rows) if mixed else READINGS["B"](rows)


def _head_by_ingress(rows: list[Key]) -> list[Id]:
    """The whole input by ingress key where the head arrived before a member."""
    right = READINGS["B"](rows)
    latest = max(rows, key=ingress_key)
    return right if latest.id == right[-1] else SEQUENCES["ingress-sort"](rows)


_order(
    "replay-by-ordinal",
    "ORDER-021",
    "Claims by the guard and replays a mixed generation by ordinal.",
    _ordinal_where_mixed,
)
_order("whole-component-by-ingress", "ORDER-022", "Sorts a whole component by ingress key, undeclared.", READINGS["A"])
_order("head-in-its-ingress-place", "ORDER-024", "Leaves the head where it arrived.", _head_by_ingress)


# -- memberships ---------------------------------------------------------------------------------------------------

#: Wrong membership -> the requirement that it breaks. Two of the golden file are faults of the reading, below.
MEMBERS: Final[Mapping[str, str]] = {
    "closure": "GEN-005",
    "replay-slice": "GEN-003",
    "ordinal-range": "GEN-004",
    "ingress-range": "GEN-003",
    "lane-switch": "GEN-003",
    "head-decides-key": "GEN-005",
    "no-upper-bound": "GEN-004",
    "zero-always-in": "GEN-004",
    "positive-before-zero-head": "GEN-042",
}


def _members(name: str, names: str) -> None:
    wrong = MEMBERSHIPS[name]

    def between(self: Lane, rows: Sequence[Key], boundary: Id | None, head: Id) -> list[Id]:
        del self
        return sorted(wrong(list(rows), boundary, head))

    lane = type(f"Lane_{name}", (Lane,), {"between": between})
    purpose = f"Decides membership wrongly: {name.replace('-', ' ')}."
    made = type(f"Members_{name}", (Claimer,), {"lane_class": lane, "__doc__": purpose})
    ORDER.plant(f"members-{name}", names=names, part="claimer")(made)


for _name, _names in MEMBERS.items():
    _members(_name, _names)


@ORDER.plant("members-head-left-out", names="GEN-028", part="reader")
class HeadLeftOut(Reader):
    """Takes the upper end as exclusive: the input holds the siblings alone."""

    def chosen(self, held: Held, found: list[Event], head: Event) -> list[Event]:
        return [e for e in super().chosen(held, found, head) if e is not head]


@ORDER.plant("members-boundary-taken-in", names="GEN-029", part="reader")
class BoundaryTakenIn(Reader):
    """Takes the lower end as inclusive: the executed row before is an input once more."""

    def members(self, held: Held) -> list[Event]:
        sql = f"{EVENT_SQL} WHERE e.route = ? AND e.source = ? ORDER BY e.event"
        lane = [Event.from_row(row) for row in self._store.read("input.read", sql, (held.route, held.source))]
        head = next((e for e in lane if e.id == held.event), None)
        boundary = Lane(lane).boundary(head) if head is not None else None
        return [*super().members(held), *([boundary] if boundary is not None else [])]


@ORDER.plant("members-replay-lane-then-filter", names="ORDER-023", part="reader")
class ReplayLaneThenFilter(Reader):
    """Replays the whole lane and cuts the members out of it."""

    def read(self, held: Held) -> dict[str, Any]:
        said = super().read(held)
        if said["status"] != "read":
            return said
        sql = f"{EVENT_SQL} WHERE e.route = ? AND e.source = ? ORDER BY e.event"
        lane = [Event.from_row(row).key for row in self._store.read("input.lane", sql, (held.route, held.source))]
        by_id = {row["event"]: row for row in said["rows"]}
        order = replay_lane_then_filter([*lane], None, held.event) if len(by_id) == len(lane) else READINGS["B"](lane)
        return {**said, "rows": [by_id[id_] for id_ in order if id_ in by_id]}


# -- retries and keys ----------------------------------------------------------------------------------------------


@ORDER.plant("order-by-attempt", names="ORDER-014", part="reader")
class OrderByAttempt(Reader):
    """Breaks a cycle by something that differs from attempt to attempt."""

    def read(self, held: Held) -> dict[str, Any]:
        said = super().read(held)
        found = {e.id: e for e in self.members(held)} if said["status"] == "read" else {}
        if not found or found[held.event].attempts < 2 or len(said["rows"]) < 2:
            return said
        by_id = {row["event"]: row for row in said["rows"]}
        return {**said, "rows": [by_id[id_] for id_ in READINGS["A"]([found[i].key for i in by_id])]}


@ORDER.plant("retry-refreshes-the-date", names="ORDER-020", part="finisher")
class RetryRefreshesTheDate(Finisher):
    """Refreshes CreatedDate of a row that is to be retried."""

    def record(self, tx: Transaction, held: Held, outcome: str, now_ms: int) -> bool:
        recorded = super().record(tx, held, outcome, now_ms)
        if recorded and outcome == "retryable":
            tx.execute("UPDATE events SET created_at = ? WHERE event = ?", (now_ms, held.event))
        return recorded


@ORDER.plant("reclaimed-row-goes-last", names="ORDER-025", part="reaper")
class ReclaimedRowGoesLast(Reaper):
    """Taking back a lost lease gives the row the next free ordinal, behind its successors."""

    def fate(self, row: Row) -> tuple[str, dict[str, Any]]:
        trigger, values = super().fate(row)
        latest = self._store.read("claim.ordinal", "SELECT MAX(ordinal) + 1 FROM events")[0][0]
        return trigger, {**values, "ordinal": latest}


@ORDER.plant("ordinals-anew-in-every-batch", names="ORDER-026", part="enqueuer")
class OrdinalsAnewInEveryBatch(Enqueuer):
    """Starts its ordinals at 1 again in every batch."""

    def columns(self, tx: Transaction, row: Incoming, now_ms: int) -> Mapping[str, Any]:
        return {**super().columns(tx, row, now_ms), "ordinal": row.sequence + 1}


@ORDER.plant("fallback-counts-for-itself", names="ORDER-027", part="enqueuer")
class FallbackCountsForItself(Enqueuer):
    """The row-by-row path counts for itself, so that its rows compare before rows stored earlier."""

    def fallback(self, rows: Sequence[Incoming], now_ms: int) -> int:
        stored = 0
        for number, row in enumerate(rows, 1):
            with self._store.transaction("deliver.row") as tx:
                if self.store(tx, row, now_ms):
                    stored += 1
                    latest = "event = (SELECT MAX(event) FROM events)"
                    tx.execute(f"UPDATE events SET ordinal = ? WHERE {latest}", (number,))
        return stored


@ORDER.plant("start-up-stamps-old-rows", names="SCOPE-010", part=HOST)
class StartUpStampsOldRows(Lanes):
    """Assigns ordinals to the rows of older versions when it starts."""

    def __init__(self, setup: Setup, ports: Ports, store: Store, spec: Spec) -> None:
        super().__init__(setup, ports, store, spec)
        if not setup.fresh:
            with store.transaction("start.migrate") as tx:
                tx.execute("UPDATE events SET ordinal = event WHERE ordinal = 0")
