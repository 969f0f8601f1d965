"""Second set of deviations of the settle lanes, made blind: claims, leases, idempotency, replay and route metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.kit import Ports, Time
from reference_impl.planting import Collection
from reference_impl.settle.claim import Claimer, Reaper
from reference_impl.settle.enqueue import Enqueuer, Incoming
from reference_impl.settle.flow import Finisher
from reference_impl.settle.lane import Lane
from reference_impl.settle.ledger import ANY, Ledger
from reference_impl.settle.metadata import Metadata
from reference_impl.settle.model import Event, Held, Raw
from reference_impl.settle.replay import Replayer
from reference_impl.store import Row, Transaction

CLAIMS_SECOND = Collection("settle-lanes")


# Given a lane whose first row is due and a later row that is not; when a worker asks for the later one by name;
# then it is claimed.
@CLAIMS_SECOND.plant("named-while-lane-is-due", names="SETTLE-021", part="claimer")
class NamedWhileLaneIsDue(Claimer):
    """Asks on a claim by name whether the lane is due, not whether the named row is."""

    class Chooser(Lane):
        """Takes any pending row by name."""

        def select(self, now_ms: int, coalesces: bool, named: int | None = None) -> Event | None:
            first = self.turn()
            wanted = None if named is None else self.events.get(named)
            if first is None or wanted is None or not first.due(now_ms):
                return super().select(now_ms, coalesces, named)
            return wanted if wanted.state == "pending" and self.eligible(wanted) else None

    lane_class = Chooser


# Given a due row whose lease was lost and taken back; when a worker asks for it by name; then nothing is claimed.
@CLAIMS_SECOND.plant("old-token-blocks-name", names="SETTLE-022", part="claimer")
class OldTokenBlocksName(Claimer):
    """Refuses a claim by name of a pending row that still shows the token of a lost lease."""

    class Chooser(Lane):
        """Takes by name only what shows no token."""

        def select(self, now_ms: int, coalesces: bool, named: int | None = None) -> Event | None:
            head = super().select(now_ms, coalesces, named)
            return None if head is not None and named is not None and head.token else head

    lane_class = Chooser


# Given a zero row as head in execution and a due successor; when another worker polls; then the successor is claimed.
@CLAIMS_SECOND.plant("old-head-blocks-nobody", names="SETTLE-039", part="claimer")
class OldHeadBlocksNobody(Claimer):
    """Looks among rows with an ordinal for the one that is executing."""

    class Chooser(Lane):
        """Is busy only with stamped rows."""

        def turn(self) -> Event | None:
            running = [e for e in self.events.values() if e.state == "processing"]
            if any(e.key.ordinal for e in running):
                return None
            waiting = [e for e in self.events.values() if e.state == "pending"]
            return self.events[self.sequence(waiting)[0]] if waiting else None

    lane_class = Chooser


# Given h held under a running lease and a clock that jumped ahead and is not trusted; when another worker polls;
# then h is taken back.
@CLAIMS_SECOND.plant("poll-trusts-any-clock", names="SETTLE-040", part="claimer")
class PollTrustsAnyClock(Claimer):
    """Asks whether the clock is trusted in recovery only, not where a poll takes lapsed claims back."""

    class Trusting(Reaper):
        """Believes the wall clock."""

        def lapsed(self, scan: str, now: Time) -> list[Row]:
            return super().lapsed(scan, Time(now.wall_ms, now.mono_ms, True))

    def claim(self, named: int | None) -> Held | None:
        self._reaper = self.Trusting(self._ledger, self._ports, self._config)
        return super().claim(named)


# Given A's lease lost and h claimed by B; when A reports a final failure; then h is dead.
@CLAIMS_SECOND.plant("final-failure-unfenced", names="SETTLE-041", part="finisher")
class FinalFailureUnfenced(Finisher):
    """Records a final failure under any token, since it would be final whoever reports it."""

    def move(self, tx: Transaction, held: Held, trigger: str, item: Raw | None = None, **values: Any) -> bool:
        if trigger != "execute_fail_final":
            return super().move(tx, held, trigger, item, **values)
        return self._ledger.move(tx, held.event, trigger, held_by=ANY, item=item or {}, **values)


# Given a dead row; when its delivery is sent again; then it is pending again.
@CLAIMS_SECOND.plant("redelivery-revives-dead", names="SETTLE-042", part="enqueuer", unguarded=True)
class RedeliveryRevivesDead(Enqueuer):
    """Gives a dead row another budget when its delivery is sent again."""

    def store(self, tx: Transaction, row: Incoming, now_ms: int) -> bool:
        new = super().store(tx, row, now_ms)
        if not new:
            sql = "SELECT event FROM events WHERE delivery = ? AND sequence = ? AND route = ? AND state = 'dead'"
            for dead in tx.query(sql, (row.delivery, row.sequence, row.route.id)):
                tx.execute("UPDATE events SET state = 'pending', attempts = 0 WHERE event = ?", (dead[0],))
                tx.execute("UPDATE work_items SET state = 'pending' WHERE event = ?", (dead[0],))
        return new


# Given a budget of one; when the worker dies after its claim and recovery ends the row for its lost lease;
# then the Event is dead and its WorkItem still in execution.
@CLAIMS_SECOND.plant("item-survives-exhaustion", names="SETTLE-043", part="ledger")
class ItemSurvivesExhaustion(Ledger):
    """Ends only the Event of a row whose last lease was lost."""

    exhausting = False

    def move(
        self,
        tx: Transaction,
        event: int,
        trigger: str,
        *,
        held_by: object = ANY,
        item: Mapping[str, Any],
        **values: Any,
    ) -> bool:
        self.exhausting = trigger == "lease_exhaust"
        return super().move(tx, event, trigger, held_by=held_by, item=item, **values)

    def move_item(self, tx: Transaction, event: int, dest: str, item: Mapping[str, Any]) -> None:
        if not self.exhausting:
            super().move_item(tx, event, dest, item)


# Given a settled row that has been executed; when its delivery is sent again; then a second row of the fact is stored.
@CLAIMS_SECOND.plant("settled-known-while-open", names="SETTLE-031", part="enqueuer", unguarded=True)
class SettledKnownWhileOpen(Enqueuer):
    """Looks on a settled route for a delivered row only among those that have not ended."""

    def known(self, tx: Transaction, row: Incoming) -> bool:
        if not row.route.mode.waits:
            return super().known(tx, row)
        sql = "SELECT 1 FROM events WHERE delivery = ? AND sequence = ? AND route = ?"
        return bool(
            tx.query(f"{sql} AND state IN ('pending', 'processing')", (row.delivery, row.sequence, row.route.id))
        )


# Given an Event that two routes take and a fallback that stored only the first one's row; when it is sent again;
# then the second route never gets its row.
@CLAIMS_SECOND.plant("known-on-one-route", names="SETTLE-044", part="enqueuer")
class KnownOnOneRoute(Enqueuer):
    """Asks only on the first route of an Event whether it is stored, and believes it for the others."""

    first: tuple[str, int, str] = ("", 0, "")
    verdict = False

    def known(self, tx: Transaction, row: Incoming) -> bool:
        if self.first[:2] != (row.delivery, row.sequence) or self.first[2] == row.route.id:
            self.first = (row.delivery, row.sequence, row.route.id)
            self.verdict = super().known(tx, row)
        return self.verdict


# Given a window longer than budget times backoff; when the first attempt fails retryably; then the row is dead.
@CLAIMS_SECOND.plant("budget-by-age", names="SETTLE-032", part="finisher")
class BudgetByAge(Finisher):
    """Gives a settled row up as well when it is older than all its attempts with their backoffs would take."""

    now_ms = 0

    def __init__(self, ledger: Ledger, ports: Ports, config: Raw) -> None:
        super().__init__(ledger, ports, config)
        self._settled = {route["id"] for route in config["routes"] if route["mode"] == "settled"}

    def record(self, tx: Transaction, held: Held, outcome: str, now_ms: int) -> bool:
        self.now_ms = now_ms
        return super().record(tx, held, outcome, now_ms)

    def budget_left(self, tx: Transaction, held: Held) -> bool:
        if held.route not in self._settled:
            return super().budget_left(tx, held)
        created = tx.query("SELECT created_at FROM events WHERE event = ?", (held.event,))[0][0]
        most = int(self._retry["budget"]) * int(self._retry["backoff_ms"])
        return super().budget_left(tx, held) and self.now_ms - int(created) <= most


# Given a dead row on a settled route and a fresh burst that is waiting; when an operator replays the dead row;
# then it is refused.
@CLAIMS_SECOND.plant("no-replay-while-settling", names="SETTLE-033", part="replayer")
class NoReplayWhileSettling(Replayer):
    """Refuses a replay as long as the lane has an open window."""

    class Settling(Exception):
        """The lane is settling."""

    def replay(self, event: int) -> dict[str, Any]:
        try:
            return super().replay(event)
        except self.Settling:
            return {"status": "refused"}

    def fresh(self, tx: Transaction, original: Row, now_ms: int) -> Mapping[str, Any]:
        if self._ledger.open_until(tx, original["route"], original["source"], now_ms) is not None:
            raise self.Settling
        return super().fresh(tx, original, now_ms)


# Given metadata that names the settled mode without a filter; when it is normalized; then it is refused.
@CLAIMS_SECOND.plant("waiting-mode-unknown", names="SETTLE-034", part="metadata")
class WaitingModeUnknown(Metadata):
    """Knows in normalization only the modes that do not wait."""

    def normalize(self, mode: str, has_filter: bool) -> dict[str, Any]:
        if mode in self._modes and self._modes[mode].waits:
            return {"status": "refused", "reason": "there is no such mode"}
        return super().normalize(mode, has_filter)


# Given the settled mode with a Flow execution filter; when it is normalized; then it is accepted as another mode.
@CLAIMS_SECOND.plant("filter-changes-mode", names="SETTLE-035", part="metadata")
class FilterChangesMode(Metadata):
    """Turns the settled mode with a filter into a coalescing mode that allows one."""

    def normalize(self, mode: str, has_filter: bool) -> dict[str, Any]:
        said = super().normalize(mode, has_filter)
        if said["status"] == "accepted" or mode not in self._modes or not self._modes[mode].waits:
            return said
        other = next((m for m in self._modes.values() if m.coalesces and m.filter != "refused"), None)
        return said if other is None else super().normalize(other.name, has_filter)


# Given mode `each` with a filter, which was accepted; when it is normalized; then it is refused.
@CLAIMS_SECOND.plant("payload-modes-take-no-filter", names="SETTLE-036", part="metadata")
class PayloadModesTakeNoFilter(Metadata):
    """Refuses a filter to every mode that preserves payloads, besides the full-record ones."""

    def normalize(self, mode: str, has_filter: bool) -> dict[str, Any]:
        if has_filter and mode in self._modes and self._modes[mode].preserves:
            return {"status": "refused", "reason": "a mode that preserves payloads takes no Flow execution filter"}
        return super().normalize(mode, has_filter)


# Given a coalescing route of an existing mode, its head failed once and a later row due too; when workers poll;
# then the failed row is not collapsed and executes once more by itself, after the later one.
@CLAIMS_SECOND.plant("failed-head-stays", names="SETTLE-037", part="claimer")
class FailedHeadStays(Claimer):
    """Supersedes no row that was attempted before, except on a settled route."""

    waits = True

    def take(self, route: str, source: str, now: Time, named: int | None) -> Held | None:
        self.waits = self._routes[route].mode.waits
        return super().take(route, source, now, named)

    def collapse(self, tx: Transaction, member: Event, head: Event) -> None:
        if self.waits or member.state == "skipped" or not member.attempts:
            super().collapse(tx, member, head)
