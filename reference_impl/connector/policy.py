"""Explicit acts of an operator: supersede, give up, reconcile, retire. Each leaves its evidence; none sends."""

from __future__ import annotations

from typing import Any

from conformance.kit import AckLost, Ports, StoreFailed, Unsupported
from reference_impl.connector.ledger import Ledger
from reference_impl.connector.model import ATTEMPT_SQL, Attempt, Raw
from reference_impl.store import Transaction

_LATER = {
    "revalidate": "explicit revalidation of a link is not built yet",
    "rebind": "rebinding a slot lineage is not built yet",
}


class Policy:
    """The acts over one ledger."""

    def __init__(self, ledger: Ledger, ports: Ports) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._ports = ports

    def operate(self, args: Raw) -> dict[str, Any]:
        """One act on the attempt or link of one record; refused without a name and evidence.

        Raises Unsupported for an act that is not built.
        """
        act = str(args["act"])
        if act in _LATER:
            raise Unsupported(f"push.operate:{act}", _LATER[act])
        if not (str(args.get("by") or "").strip() and str(args.get("evidence") or "").strip()):
            return {"status": "refused", "reason": "evidence_missing"}
        acts = {
            "supersede": self._supersede,
            "give_up": self._give_up,
            "reconcile": self._reconcile,
            "retire": self._retire,
        }
        if act not in acts:
            raise Unsupported(f"push.operate:{act}", f"the acts are {', '.join((*acts, *_LATER))}")
        link = self._ports.ids.new(f"operate.{act}")
        try:
            with self._store.transaction(f"operate.{act}") as tx:
                done = acts[act](tx, args, link)
        except StoreFailed:
            return {"status": "refused", "reason": "unavailable"}
        except AckLost:
            return {"status": "unknown", "reason": "unavailable"}
        return {"status": "done"} if done is None else {"status": "refused", "reason": done}

    def _supersede(self, tx: Transaction, args: Raw, link: str) -> str | None:
        del link
        held = self._newest(tx, args)
        if held is None or held.state != "terminal_failed":
            return "not_terminal"
        # A remote record may exist under an id that is on record: another POST would double it.
        if not self._ledger.move(tx, held.attempt, "supersede", when="remote_id IS NULL AND late_remote_id IS NULL"):
            return "remote_id_known"
        self._note(tx, args, held.link_key)
        return None

    def _give_up(self, tx: Transaction, args: Raw, link: str) -> str | None:
        del link
        held = self._newest(tx, args)
        if held is None or held.state != "pending":
            return "not_pending"
        if not self._ledger.move(tx, held.attempt, "give_up_held", held_by=None, when="io_started_at IS NULL"):
            return "claimed"
        self._note(tx, args, held.link_key)
        return None

    def _reconcile(self, tx: Transaction, args: Raw, link: str) -> str | None:
        held = self._newest(tx, args)
        if held is None or held.state != "ambiguous_remote_effect":
            return "not_ambiguous"
        remote_id = str(args["remote_id"])
        if self._ledger.locator_owner(tx, held, held.canonical(remote_id)) is not None:
            return "locator_conflict"
        ids: dict[str, Any] = {"remote_id": remote_id, "canonical_id": held.canonical(remote_id)}
        self._ledger.move(tx, held.attempt, "reconcile", held_by=None, **ids)
        self._ledger.insert_link(tx, link, held, remote_id)
        self._note(tx, args, held.link_key)
        return None

    def _retire(self, tx: Transaction, args: Raw, link: str) -> str | None:
        del link
        where = "object = ? AND record = ? AND state <> 'retired'"
        keys = tx.query(f"SELECT link_key FROM links WHERE {where}", (args["object"], args["id"]))
        if len(keys) != 1:
            return "no_link"
        tx.execute(f"UPDATE links SET state = 'retired' WHERE {where}", (args["object"], args["id"]))
        self._note(tx, args, keys[0][0])
        return None

    def _newest(self, tx: Transaction, args: Raw) -> Attempt | None:
        where = "WHERE object = ? AND record = ? ORDER BY ordinal DESC LIMIT 1"
        rows = tx.query(f"{ATTEMPT_SQL} {where}", (args["object"], args["id"]))
        return Attempt.from_row(rows[0]) if rows else None

    def _note(self, tx: Transaction, args: Raw, link_key: str) -> None:
        self._ledger.note_act(tx, str(args["act"]), link_key, str(args["by"]), str(args["evidence"]))
