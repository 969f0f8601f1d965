"""The connector runtime behind its commands (spec/commands/connector_push.yaml)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from conformance.kit import AckLost, Ports, Setup, StoreFailed, Unsupported
from reference_impl.connector.dispatch import Dispatcher
from reference_impl.connector.ledger import Ledger
from reference_impl.connector.metadata import actions_of
from reference_impl.connector.model import CONFIGURED, Raw, canonical_json
from reference_impl.connector.policy import Policy
from reference_impl.connector.saver import Reserved, Saver
from reference_impl.connector.worker import Worker
from reference_impl.connector.writeback import Writeback
from reference_impl.store import Store, Transaction
from statemachines.spec import Spec

_ROWS = {
    "links": "SELECT link, link_key, object, record, owner_key, action_slot, destination_slot, scope, remote_id,"
    " canonical_id, state, attempt, mirror, created_install, validated_install FROM links ORDER BY rowid",
    "attempts": "SELECT attempt, link_key, object, record, state, lane, ordinal, claim, worker, lease_expires_at,"
    " io_started_at, sends, idempotency_key, remote_id, late_remote_id, mirror_tries, reason"
    " FROM attempts ORDER BY rowid",
    "records": "SELECT id, object, deleted, locked, fields FROM records ORDER BY object, id",
    "receipts": "SELECT operation, link_key, manifest_digest FROM receipts ORDER BY rowid",
    "status_log": "SELECT seq, entity, id, from_state, to_state FROM status_log ORDER BY seq",
}
_LATER = {
    "push.adopt": "legacy links are not adopted yet",
    "push.manifest_member": "mapping revalidation is not built yet",
    "push.revalidate_mappings": "mapping revalidation is not built yet",
    "push.housekeep": "nothing is ever purged",
    "push.load_rows": "rows come into being by the protocol only",
    "stop": "a stop beside the kill is not built yet",
}


class Connector:
    """One opened runtime on one state directory."""

    ledger_class = Ledger
    saver_class = Saver
    dispatcher_class = Dispatcher
    writeback_class = Writeback
    worker_class = Worker
    policy_class = Policy

    def __init__(self, setup: Setup, ports: Ports, store: Store, spec: Spec) -> None:
        self._config = setup.config
        self._store = store
        workers = setup.config["workers"]
        ledger = self.ledger_class(store, spec.lifecycles)
        self.ledger = ledger
        self.saver = self.saver_class(ledger, ports, setup.config)
        self.writeback = self.writeback_class(ledger, ports, workers)
        self.dispatcher = self.dispatcher_class(ledger, self.writeback, ports, workers)
        self.worker = self.worker_class(ledger, self.dispatcher, self.writeback, ports, setup.config)
        self.policy = self.policy_class(ledger, ports)
        self._commands: dict[str, Callable[[Raw], dict[str, Any]]] = {
            "push.write_record": self.write_record,
            "push.delete_record": lambda args: self._change_record(args, "record.delete", deleted=1),
            "push.restore_record": lambda args: self._change_record(args, "record.restore", deleted=0),
            "push.trigger": self.trigger,
            "push.work": lambda args: self.worker.work(str(args["kind"])),
            "push.operate": self.policy.operate,
        }

    def command(self, cmd: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """One command of the family; raises Unsupported with the reason for what is not built."""
        if cmd in self._commands:
            return self._commands[cmd](args)
        raise Unsupported(cmd, _LATER.get(cmd, "the connector runtime has no such command"))

    def recover(self) -> Mapping[str, Any]:
        """The recovery procedure: configured rows only, since a worker's claim owns recovery in the deferred lane."""
        return self.worker.recover()

    def snapshot(self) -> Mapping[str, Any]:
        """All durable rows in their canonical columns."""
        kinds = dict(self._store.rows(_ROWS))
        kinds["records"] = [_record(row) for row in kinds["records"]]
        return {"source": "store", "kinds": kinds}

    def trigger(self, args: Raw) -> dict[str, Any]:
        """The save that may push: per authored action a reservation, and in the ordinary path the request itself."""
        pushes = []
        for pack, action in actions_of(self._config, str(args["object"])):
            said = self.saver.save(pack, action, str(args["id"]), str(args["user"]))
            if isinstance(said, Reserved):
                said = self._send_or_leave(said, action)
            pushes.append({"action": action["name"], **said})
        return {"pushes": pushes}

    def _send_or_leave(self, reserved: Reserved, action: Raw) -> dict[str, Any]:
        if action["dispatch"] == "synchronous" and reserved.lane == CONFIGURED:
            return self.dispatcher.carry(reserved.attempt, (CONFIGURED,))
        return {"status": "reserved", "attempt": reserved.attempt, "lane": reserved.lane}

    def write_record(self, args: Raw) -> dict[str, Any]:
        """Create or change a local record. A locked record refuses the mirror's write, not this one."""

        def write(tx: Transaction) -> int:
            key = (args["object"], args["id"])
            rows = tx.query("SELECT fields FROM records WHERE object = ? AND id = ?", key)
            fields = {**(json.loads(rows[0][0]) if rows else {}), **args["fields"]}
            return tx.execute(
                "INSERT INTO records (object, id, locked, fields) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (object, id) DO UPDATE SET fields = excluded.fields, locked = excluded.locked",
                (*key, int(bool(args.get("locked", False))), canonical_json(fields)),
            )

        return self._record_change("record.write", write)

    def _change_record(self, args: Raw, step: str, *, deleted: int) -> dict[str, Any]:
        sql = "UPDATE records SET deleted = ? WHERE object = ? AND id = ?"
        return self._record_change(step, lambda tx: tx.execute(sql, (deleted, args["object"], args["id"])))

    def _record_change(self, step: str, change: Callable[[Transaction], int]) -> dict[str, Any]:
        try:
            with self._store.transaction(step) as tx:
                changed = change(tx)
        except StoreFailed:
            return {"status": "refused", "reason": "unavailable"}
        except AckLost:
            return {"status": "unknown", "reason": "unavailable"}
        return {"status": "done" if changed else "absent"}


def _record(row: Raw) -> dict[str, Any]:
    return {
        "id": row["id"],
        "object": row["object"],
        "deleted": bool(row["deleted"]),
        "locked": bool(row["locked"]),
        "fields": json.loads(row["fields"]),
    }
