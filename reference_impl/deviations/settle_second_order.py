"""Second set of deviations of the settle lanes, made blind: the order of a lane, its stored keys, and the scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reference_impl.planting import Collection
from reference_impl.settle.claim import Claimer
from reference_impl.settle.enqueue import Enqueuer, Incoming
from reference_impl.settle.flow import Finisher, Reader
from reference_impl.settle.lane import Lane
from reference_impl.settle.ledger import Ledger
from reference_impl.settle.model import Event, Held, Raw
from reference_impl.store import Transaction
from statemachines.lanes import READINGS, Id, Row, components, ingress_key, ordinal_key, precedes, replay

ORDER_SECOND = Collection("settle-lanes")


def ordered(by: Callable[[list[Row]], list[Id]]) -> type[Lane]:
    """A lane whose rows are replayed in another way."""

    class Ordered(Lane):
        """See above."""

        def sequence(self, events: Iterable[Event]) -> list[Id]:
            return by([event.key for event in events])

    return Ordered


def gaps(rows: Iterable[Row]) -> list[list[Row]]:
    """The rows by arrival, each zero row alone and the stamped rows between two of them together."""
    found: list[list[Row]] = [[]]
    for row in sorted(rows, key=ingress_key):
        if row.ordinal:
            found[-1].append(row)
        else:
            found += [[row], []]
    return found


def ids(groups: Iterable[Iterable[Row]]) -> list[Id]:
    """The ids of some rows, one group after the other."""
    return [row.id for group in groups for row in group]


# Given two zero rows of one second, the earlier with the larger DeliverySequence; when replayed;
# then the later comes first.
@ORDER_SECOND.plant("whole-second-dates", names="ORDER-003", part="reader")
class WholeSecondDates(Reader):
    """Compares CreatedDate in whole seconds, so that DeliverySequence decides inside a second."""

    lane_class = ordered(lambda rows: replay(replace(r, created=r.created // 1000) for r in rows))


# Given zero rows of one CreatedDate with DeliverySequence 9 and 10; when replayed; then 10 comes first.
@ORDER_SECOND.plant("sequence-as-text", names="ORDER-004", part="reader")
class SequenceAsText(Reader):
    """Compares DeliverySequence as text."""

    lane_class = ordered(lambda rows: replay(replace(r, sequence=str(r.sequence)) for r in rows))


# Given zero rows 9 and 10, all else equal; when replayed; then 10 comes first.
@ORDER_SECOND.plant("id-as-text", names="ORDER-005", part="reader")
class IdAsText(Reader):
    """Compares Ids as text."""

    lane_class = ordered(lambda rows: [int(i) for i in replay(replace(r, id=str(r.id)) for r in rows)])


# Given a stamped row and, later in the same millisecond, a zero row; when replayed; then the zero row comes first.
@ORDER_SECOND.plant("zero-first-in-a-tie", names="ORDER-006", part="reader")
class ZeroFirstInATie(Reader):
    """Lets the row without an ordinal go first where two rows have one CreatedDate."""

    lane_class = ordered(lambda rows: replay(replace(r, sequence=(r.ordinal > 0, r.sequence)) for r in rows))


# Given a generation of zero rows alone, Id and CreatedDate contradictory; when replayed; then the smaller Id leads.
@ORDER_SECOND.plant("old-lane-by-id", names="ORDER-007", part="reader")
class OldLaneById(Reader):
    """Sorts an input that has no row with an ordinal by Id."""

    @staticmethod
    def by(rows: list[Row]) -> list[Id]:
        """The order of the rows."""
        return replay(rows) if any(r.ordinal for r in rows) else sorted(r.id for r in rows)

    lane_class = ordered(by)


# Given a cyclic generation stored in several permutations of Ids; when replayed; then the sequence depends on the Ids.
@ORDER_SECOND.plant("insert-where-it-fits", names="ORDER-009", part="reader")
class InsertWhereItFits(Reader):
    """Puts each row, as it is read, in front of the first one that it precedes."""

    @staticmethod
    def by(rows: list[Row]) -> list[Id]:
        """The order of the rows."""
        line: list[Row] = []
        for row in rows:
            place = next((i for i, other in enumerate(line) if precedes(row, other)), len(line))
            line.insert(place, row)
        return ids([line])

    lane_class = ordered(by)


# Given stamped 2 and stamped 1, arrived in this order, then a zero row; when replayed; then 2 comes before 1.
@ORDER_SECOND.plant("before-the-first-zero", names="ORDER-010", part="reader")
class BeforeTheFirstZero(Reader):
    """Replays what arrived before the first row without an ordinal by arrival, cycle or not."""

    @staticmethod
    def by(rows: list[Row]) -> list[Id]:
        """The order of the rows."""
        first, *rest = gaps(rows)
        return ids([first]) + replay(row for group in rest for row in group) if rest else replay(rows)

    lane_class = ordered(by)


# Given a stamped generation whose ordinals and dates disagree; when replayed; then it comes by arrival.
@ORDER_SECOND.plant("disagreement-is-a-cycle", names="ORDER-011", part="reader")
class DisagreementIsACycle(Reader):
    """Takes two ordinals against the order of arrival for a cycle where no row without an ordinal is about."""

    @staticmethod
    def by(rows: list[Row]) -> list[Id]:
        """The order of the rows."""
        return replay(rows) if any(not r.ordinal for r in rows) else ids([sorted(rows, key=ingress_key)])

    lane_class = ordered(by)


# Given ingress order stamped 3, zero, stamped 2, stamped 1 in one generation; when its first attempt fails;
# then the retry gives the last two rows the other way round.
@ORDER_SECOND.plant("retry-breaks-otherwise", names="ORDER-014", part="reader")
class RetryBreaksOtherwise(Reader):
    """Sorts a whole cycle by arrival on a retry, while the first attempt breaks it row by row."""

    def chosen(self, held: Held, found: list[Event], head: Event) -> list[Event]:
        self.lane_class = ordered(READINGS["A"]) if head.attempts > 1 else Lane
        return super().chosen(held, found, head)


# Given a gap that holds one row of a cycle and an inverted pair outside of it; when replayed;
# then the pair comes by arrival.
@ORDER_SECOND.plant("gap-goes-with-the-cycle", names="ORDER-015", part="reader")
class GapGoesWithTheCycle(Reader):
    """Breaks a cycle together with every row that arrived between the same two rows without an ordinal."""

    @staticmethod
    def by(rows: list[Row]) -> list[Id]:
        """The order of the rows."""
        cyclic = {id_ for component in components(rows) if len(component) > 1 for id_ in component}
        return ids(g if any(r.id in cyclic for r in g) else sorted(g, key=ordinal_key) for g in gaps(rows))

    lane_class = ordered(by)


# Given the cycle stamped 2, zero, stamped 1 in ingress order, the zero row with the smallest Id; when replayed;
# then the zero row leads.
@ORDER_SECOND.plant("break-at-smallest-id", names="ORDER-016", part="reader")
class BreakAtSmallestId(Reader):
    """Breaks a cycle at the row with the smallest Id."""

    @staticmethod
    def by(rows: list[Row]) -> list[Id]:
        """The order of the rows."""
        left, line = sorted(rows, key=lambda r: int(r.id)), []
        while left:
            free = (r for r in left if not any(precedes(o, r) for o in left if o is not r))
            line.append(next(free, left[0]))
            left.remove(line[-1])
        return ids([line])

    lane_class = ordered(by)


# Given two cycles with an inverted pair between them; when replayed; then the pair comes by arrival.
@ORDER_SECOND.plant("one-break-for-all", names="ORDER-019", part="reader")
class OneBreakForAll(Reader):
    """Sorts everything from the first cycle to the last by arrival in one go."""

    @staticmethod
    def by(rows: list[Row]) -> list[Id]:
        """The order of the rows."""
        chain, by_id = components(rows), {row.id: row for row in rows}
        cyclic = [i for i, component in enumerate(chain) if len(component) > 1]
        if len(cyclic) < 2:
            return replay(rows)
        parts = chain[: cyclic[0]], chain[cyclic[0] : cyclic[-1] + 1], chain[cyclic[-1] + 1 :]
        before, middle, after = ([by_id[id_] for component in part for id_ in component] for part in parts)
        return [*ids([before]), *ids([sorted(middle, key=ingress_key)]), *ids([after])]

    lane_class = ordered(by)


# Given a stored row; when its delivery is sent again by the fallback path; then its CreatedDate is that of today.
@ORDER_SECOND.plant("seen-again", names="ORDER-020", part="enqueuer")
class SeenAgain(Enqueuer):
    """Refreshes CreatedDate of a waiting row that is delivered a second time row by row."""

    def fallback(self, rows: Sequence[Incoming], now_ms: int) -> int:
        stored = 0
        for row in rows:
            with self._store.transaction("deliver.row") as tx:
                new = self.store(tx, row, now_ms)
                stored += new
                if not new:
                    sql = "UPDATE events SET created_at = ? WHERE delivery = ? AND sequence = ? AND route = ?"
                    tx.execute(f"{sql} AND state = 'pending'", (now_ms, row.delivery, row.sequence, row.route.id))
        return stored


# Given a zero row as head; when its attempt fails retryably; then it has an ordinal.
@ORDER_SECOND.plant("stamped-at-failure", names="ORDER-025", part="finisher")
class StampedAtFailure(Finisher):
    """Gives a row without an ordinal the next one when it writes its retry."""

    def move(self, tx: Transaction, held: Held, trigger: str, item: Raw | None = None, **values: Any) -> bool:
        if trigger == "execute_fail_retryable":
            old = tx.query("SELECT ordinal FROM events WHERE event = ?", (held.event,))[0][0]
            values["ordinal"] = old or self._ledger.next_ordinal(tx)
        return super().move(tx, held, trigger, item, **values)


# Given a batch that has ended; when the next batch for the lane is stored; then its ordinals begin at 1 again.
@ORDER_SECOND.plant("ordinals-of-open-rows", names="ORDER-026", part="ledger")
class OrdinalsOfOpenRows(Ledger):
    """Continues the series of ordinals from the rows that are not finished yet."""

    def next_ordinal(self, tx: Transaction) -> int:
        sql = "SELECT COALESCE(MAX(ordinal), 0) + 1 FROM events WHERE state IN ('pending', 'processing')"
        return int(tx.query(sql)[0][0])


# Given a bulk write that certainly failed; when the fallback follows at once; then its rows have ordinal 0.
@ORDER_SECOND.plant("fallback-without-ordinal", names="ORDER-027", part="enqueuer")
class FallbackWithoutOrdinal(Enqueuer):
    """Stores rows without an ordinal where it falls back from a failed bulk write."""

    bulk_failed = False

    def deliver(self, args: Raw) -> dict[str, Any]:
        self.bulk_failed = False
        return super().deliver(args)

    def bulk(self, rows: Sequence[Incoming], now_ms: int) -> int:
        self.bulk_failed = True
        return super().bulk(rows, now_ms)

    def fallback(self, rows: Sequence[Incoming], now_ms: int) -> int:
        self.falling = self.bulk_failed
        return super().fallback(rows, now_ms)

    def columns(self, tx: Transaction, row: Incoming, now_ms: int) -> Mapping[str, Any]:
        columns = super().columns(tx, row, now_ms)
        return {**columns, "ordinal": 0} if getattr(self, "falling", False) else columns


# Given zero row x and stamped h of one CreatedDate, DeliverySequence and Id contradictory; when h executes;
# then membership goes by Id and replay by DeliverySequence.
@ORDER_SECOND.plant("membership-skips-sequence", names="ORDER-021", part="claimer")
class MembershipSkipsSequence(Claimer):
    """Leaves DeliverySequence out of the key when it decides on membership, and out of nothing else."""

    class Ends(Lane):
        """Ends without DeliverySequence."""

        def between(self, rows: Sequence[Row], boundary: Id | None, head: Id) -> list[Id]:
            return super().between([replace(row, sequence=0) for row in rows], boundary, head)

    lane_class = Ends


# Given ingress order stamped 2, stamped 1... of one gap on one cycle (golden lanes); when replayed;
# then they come by ordinal, where the normative sequence has them by arrival.
@ORDER_SECOND.plant("gaps-by-ordinal", names="ORDER-022", part="reader")
class GapsByOrdinal(Reader):
    """Orders the rows between two rows without an ordinal by ordinal even where a cycle overtakes them."""

    lane_class = ordered(READINGS["D"])


# Given any generation of two rows or more; when its first attempt failed and it is retried; then the head comes first.
@ORDER_SECOND.plant("failed-head-first", names="ORDER-024", part="reader")
class FailedHeadFirst(Reader):
    """Hands over the head that failed first on a retry, and its siblings behind it."""

    def read(self, held: Held) -> dict[str, Any]:
        said = super().read(held)
        if said["status"] == "read" and self.again:
            said["rows"].sort(key=lambda row: bool(row["event"] != held.event))
        return said

    again = False

    def chosen(self, held: Held, found: list[Event], head: Event) -> list[Event]:
        self.again = head.attempts > 1
        return super().chosen(held, found, head)
