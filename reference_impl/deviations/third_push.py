"""Third set, made blind: connector push, in the seams between what the first two sets have planted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.kit import AckLost, Ports, Setup, StoreFailed
from reference_impl.connector.dispatch import Dispatcher
from reference_impl.connector.ledger import FREE, Ledger, expired
from reference_impl.connector.metadata import holds
from reference_impl.connector.model import Answer, Attempt, Raw
from reference_impl.connector.policy import Policy
from reference_impl.connector.runtime import Connector
from reference_impl.connector.worker import Worker
from reference_impl.planting import HOST, Collection
from reference_impl.store import Store, Transaction
from statemachines.spec import Spec

PUSH_THIRD = Collection("connector-push")


# ATT-015. Given W1 paused behind its claim, its lease over, and A recovered and claimed by W2; when W1 goes on; then it
# holds the very token that W2 has, writes the checkpoint under W2's claim and sends.
@PUSH_THIRD.plant("token-counts-sends", names="ATT-015", part="dispatcher")
class TokenCountsSends(Dispatcher):
    """Makes its claim token of the attempt and the number of the send, which a claim that never sent does not raise."""

    def claim(self, attempt: str, lanes: tuple[str, ...]) -> str | None:
        now = self._ports.clock.now("dispatch.claim")
        lane = "lane IN ({})".format(", ".join(f"'{name}'" for name in lanes))
        with self._store.transaction("dispatch.claim") as tx:
            sends = tx.query("SELECT sends FROM attempts WHERE attempt = ?", (attempt,))[0][0]
            token = f"{attempt}-{sends + 1}"
            won = self._ledger.move(tx, attempt, "claim", held_by=None, when=lane, **self._lease(token, now))
        return token if won else None


# POST-032. Given W1 about to commit its checkpoint when its lease ends, and W2 that has scanned A without one; when W1
# commits and sends, and W2 goes on; then A is pending with its checkpoint cleared, and sent again.
@PUSH_THIRD.plant("returned-as-scanned", names="POST-032", part="worker")
class ReturnedAsScanned(Worker):
    """Returns an expired attempt to pending by what its scan has seen, and clears the checkpoint with the claim."""

    def recover_expired(self, lanes: tuple[str, ...], tally: Counter[str], *, may_send: bool = True) -> None:
        now = self._ports.clock.now("reclaim.scan")
        for attempt in self._ledger.attempts_in("reclaim.scan", ("processing", "post_sent"), lanes):
            if not expired(attempt, now):
                continue
            if attempt.io_started_at is not None and attempt.replayable:
                if may_send and holds(self._config, attempt) is None:
                    tally[str(self._dispatcher.replay(attempt)["status"])] += 1
                continue
            trigger = self.verdict(attempt)
            fate: dict[str, Any] = {"reason": "outcome_unknown" if trigger == "recover_sent" else None, **FREE}
            if trigger == "recover_unsent":
                fate["io_started_at"] = None
            with self._store.transaction("reclaim.expired") as tx:
                tally[trigger] += self._ledger.move(tx, attempt.attempt, trigger, held_by=attempt.claim, **fate)


def _contract_of_today(config: Raw, attempt: Attempt) -> Raw | None:
    """The replay contract that the profile of an attempt declares now."""
    for pack in config["packs"]:
        for profile in pack["profiles"]:
            same = pack["owner_key"] == attempt.frozen["owner_key"]
            if same and profile["active"] and profile["destination_slot"] == attempt.destination_slot:
                found: Raw | None = profile["replay"]
                return found
    return None


class _HeaderOfToday(Dispatcher):
    config: Mapping[str, Any] = {}

    def send(self, held: Attempt) -> Answer:
        """The frozen path, body and key, under the header that the profile names now."""
        today = _contract_of_today(self.config, held)
        if held.contract["replay"] is None or today is None:
            return super().send(held)
        return super().send(replace(held, contract={**held.contract, "replay": today}))


# POST-034. Given a replay contract, the first answer lost, and the contract's header renamed; when a worker replays;
# then the key travels under the new name, which is not the frozen request.
@PUSH_THIRD.plant("replay-header-of-today", names="POST-034", part=HOST)
class ReplayHeaderOfToday(Connector):
    """A replay sends its key in the header that the profile names by now."""

    dispatcher_class = _HeaderOfToday

    def __init__(self, setup: Setup, ports: Ports, store: Store, spec: Spec) -> None:
        super().__init__(setup, ports, store, spec)
        if isinstance(self.dispatcher, _HeaderOfToday):
            self.dispatcher.config = setup.config


class _WideningLedger(Ledger):
    config: Mapping[str, Any] = {}

    def attempts_in(self, step: str, states: Sequence[str], lanes: Sequence[str]) -> list[Attempt]:
        """What was reserved without a replay contract has the one that its profile declares now."""
        return [self._widened(attempt) for attempt in super().attempts_in(step, states, lanes)]

    def _widened(self, attempt: Attempt) -> Attempt:
        if attempt.contract["replay"] is not None:
            return attempt
        return replace(attempt, contract={**attempt.contract, "replay": _contract_of_today(self.config, attempt)})


# POST-032. Given no replay contract, a crash while the remote has the request, and a contract declared since; when a
# worker recovers A; then it sends again, though the first request carried no key.
@PUSH_THIRD.plant("contract-of-today", names="POST-032", part=HOST)
class ContractOfToday(Connector):
    """Recovery judges by the profile as it is now whether an unknown outcome may be tried again."""

    ledger_class = _WideningLedger

    def __init__(self, setup: Setup, ports: Ports, store: Store, spec: Spec) -> None:
        super().__init__(setup, ports, store, spec)
        if isinstance(self.ledger, _WideningLedger):
            self.ledger.config = setup.config


# DRIFT-092. Given ids without regard to case and X on R1's link; when R2 is answered with x; then R2 gets a link too.
@PUSH_THIRD.plant("locator-by-spelling", names="DRIFT-092", part="ledger")
class LocatorBySpelling(Ledger):
    """Compares remote ids as they are spelled, whatever the profile says of their form."""

    def attempt(self, step: str, attempt: str) -> Attempt:
        return _spelled(super().attempt(step, attempt))

    def attempts_in(self, step: str, states: Sequence[str], lanes: Sequence[str]) -> list[Attempt]:
        return [_spelled(attempt) for attempt in super().attempts_in(step, states, lanes)]


def _spelled(attempt: Attempt) -> Attempt:
    return replace(attempt, contract={**attempt.contract, "remote_id_form": "exact"})


# MIRROR-003. Given X staged on A and a crash ahead of the link; when R is saved again; then the pair is on the record,
# and no link is finalized.
@PUSH_THIRD.plant("save-shows-staged-id", names="MIRROR-003", part=HOST)
class SaveShowsStagedId(Connector):
    """A save that finds its attempt with a staged id writes the pair, so that its user sees the id at once."""

    def trigger(self, args: Raw) -> dict[str, Any]:
        said = super().trigger(args)
        for push in said["pushes"]:
            if push.get("reason") == "writeback_commit_pending":
                self._show(str(push["attempt"]))
        return said

    def _show(self, attempt: str) -> None:
        try:
            held = self.ledger.attempt("save.observe", attempt)
            with self._store.transaction("save.reserve") as tx:
                self.writeback.write_pair(tx, held)
        except (StoreFailed, AckLost):
            return


# POST-023. Given A failed ahead of its POST since R was gone; when R is restored and saved; then a new attempt is
# reserved and sent beside A, which nobody has superseded.
@PUSH_THIRD.plant("gone-source-frees-slot", names="POST-023", part="ledger", unguarded=True)
class GoneSourceFreesSlot(Ledger):
    """Lets an attempt that failed unsent because its record was gone occupy nothing, as there is nothing to protect."""

    def _occupant_sql(self) -> str:
        return f"{super()._occupant_sql()} AND NOT (reason IS 'source_gone' AND io_started_at IS NULL)"


class _TwoStepPolicy(Policy):
    _owed: tuple[Attempt, str, str] | None = None

    def operate(self, args: Raw) -> dict[str, Any]:
        """The act, and behind it the link of what was reconciled."""
        said = super().operate(args)
        owed, self._owed = self._owed, None
        if owed is None or said["status"] != "done":
            return said
        held, link, remote_id = owed
        try:
            with self._store.transaction("operate.reconcile") as tx:
                self._ledger.insert_link(tx, link, held, remote_id)
        except StoreFailed:
            return {"status": "refused", "reason": "unavailable"}
        except AckLost:
            return {"status": "unknown", "reason": "unavailable"}
        return said

    def _reconcile(self, tx: Transaction, args: Raw, link: str) -> str | None:
        held = self._newest(tx, args)
        if held is None or held.state != "ambiguous_remote_effect":
            return "not_ambiguous"
        remote_id = str(args["remote_id"])
        if self._ledger.locator_owner(tx, held, held.canonical(remote_id)) is not None:
            return "locator_conflict"
        ids: dict[str, Any] = {"remote_id": remote_id, "canonical_id": held.canonical(remote_id)}
        self._ledger.move(tx, held.attempt, "reconcile", held_by=None, **ids)
        self._note(tx, args, held.link_key)
        self._owed = (held, link, remote_id)
        return None


# POST-031. Given A ambiguous; when an operator reconciles it and the process is killed between the two commits; then A
# is writeback_pending without any link.
@PUSH_THIRD.plant("reconciled-in-two-steps", names="POST-031", part="policy")
class ReconciledInTwoSteps(_TwoStepPolicy):
    """A reconciliation takes the attempt on in one transaction and makes its link in the next."""
