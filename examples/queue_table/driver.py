"""The queue behind the driver protocol: family settle-lanes, rung L1.

Reads a line, does it, answers, reads the next: no command here waits for anything, so nothing else is needed.
Stdout carries only the protocol.
"""

import json
import sys
from dataclasses import dataclass
from typing import Any

import queue_table as q

HELLO = {
    "v": 1,
    "name": "queue-table",
    "version": "1",
    "language": "python",
    "families": ["settle-lanes"],
    "rung": "L1",
    "clock": "virtual",
}

EVENT_COLUMNS = (
    "id AS event, route, source, state, ordinal, created_at, sequence, delivery, not_before, attempts, token, worker,"
    " lease_expires_at, error, served, replayed_by, payload"
)
ITEM_COLUMNS = "id AS item, id AS event, state, not_before AS run_after"


@dataclass
class Clock:
    """The time that the suite gives, 1 ms later at each reading."""

    wall_ms: int
    trusted: bool

    def now(self) -> int:
        self.wall_ms += 1
        return self.wall_ms


class Unsupported(Exception):
    """This driver does not offer that."""


class Process:
    """One process of the host: a connection, a clock, and the claim that it holds in memory."""

    def __init__(self, args: dict[str, Any]) -> None:
        config = args["config"]
        kinds: dict[str, list[str]] = {}
        for route in config["routes"]:
            for kind in route["kinds"]:
                kinds.setdefault(kind, []).append(route["id"])
        self.settings = q.Settings(
            routes={route["id"]: route["mode"] for route in config["routes"]},
            kinds=kinds,
            settle_ms=config["windows"]["settle_ms"],
            lease_ms=config["windows"]["lease_ms"],
            budget=config["retry"]["budget"],
            backoff_ms=config["retry"]["backoff_ms"],
        )
        self.db = q.open_queue(f"{args['state_dir']}/queue.db")
        self.held: q.Claim | None = None
        self.set_time(args["clock"])

    def set_time(self, clock: dict[str, Any]) -> None:
        self.clock = Clock(clock["wall_ms"], clock["trusted"])

    def command(self, name: str, args: dict[str, Any], actor: str) -> dict[str, Any]:
        """One command of the family, as docs/commands-settle-lanes.md describes it."""
        match name:
            case "lane.deliver":
                bulk = args["path"] == "bulk"
                new = q.deliver(self.db, self.settings, args["delivery"], args["events"], self.clock.now(), bulk=bulk)
                return {"status": "stored", "path": args["path"], "stored": new}
            case "lane.load_rows":
                load_rows(self.db, args["rows"])
                return {"status": "stored"}
            case "lane.claim":
                return self.claim(args.get("event"), actor)
            case "lane.input":
                if self.held is None:
                    return {"status": "nothing"}
                rows = q.read_input(self.db, self.settings, self.held)
                if rows is None:
                    return {"status": "lost", "event": self.held.head}
                listed = [{"event": event, "payload": payload} for event, payload in rows]
                return {"status": "read", "event": self.held.head, "rows": listed}
            case "lane.finish":
                return self.finish(args["outcome"])
            case "lane.replay":
                fresh = q.replay(self.db, args["event"], self.clock.now())
                return {"status": "refused"} if fresh is None else {"status": "replayed", "event": fresh}
            case "lane.metrics":
                due, oldest = q.metrics(self.db, self.clock.now())
                return {"status": "read", "due": due} | ({} if oldest is None else {"oldest_due_at": oldest})
            case "lane.normalize":
                mode = q.normalize(args["mode"], has_filter=args["filter"])
                if mode is None:
                    return {"status": "refused", "reason": "this mode takes no Flow execution filter"}
                return {"status": "accepted", "mode": mode}
        raise Unsupported(name)

    def claim(self, event: int | None, actor: str) -> dict[str, Any]:
        found = q.claim(self.db, self.settings, actor, self.clock.now(), trusted=self.clock.trusted, event=event)
        self.held = found
        return {"status": "nothing"} if found is None else {"status": "claimed", "event": found.head}

    def finish(self, outcome: str) -> dict[str, Any]:
        if self.held is None:
            return {"status": "nothing"}
        recorded = q.finish(self.db, self.settings, self.held, outcome, self.clock.now())
        head, self.held = self.held.head, None
        return {"status": "recorded" if recorded else "lost", "event": head}

    def recover(self) -> dict[str, Any]:
        count = q.recover(self.db, self.settings, self.clock.now(), trusted=self.clock.trusted)
        return {"status": "done", "counts": {"taken back": count}}

    def snapshot(self) -> dict[str, Any]:
        """Both kinds of row come from one table, read in one transaction."""
        self.db.execute("BEGIN")
        kinds = {
            "events": [dict(r) for r in self.db.execute(f"SELECT {EVENT_COLUMNS} FROM queue ORDER BY id")],
            "work_items": [dict(r) for r in self.db.execute(f"SELECT {ITEM_COLUMNS} FROM queue ORDER BY id")],
        }
        self.db.execute("COMMIT")
        return {"source": "store", "kinds": kinds}


def load_rows(db: Any, rows: list[dict[str, Any]]) -> None:
    """Rows of an older version, with the keys that they had. No business of the queue itself, so it is here."""
    with q.transaction(db):
        for row in rows:
            db.execute(
                "INSERT INTO queue (id, route, source, payload, delivery, sequence, ordinal, created_at, state,"
                " not_before, attempts, token, error) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(row[name] for name in ("id", "route", "source", "payload")),
                    row.get("delivery", f"older {row['id']}"),
                    *(row[name] for name in ("sequence", "ordinal", "created_at", "state")),
                    row.get("not_before"),
                    row.get("attempts", 0),
                    f"older token {row['id']}" if row.get("token") else None,
                    row.get("error"),
                ),
            )


def answer(process: Process | None, request: dict[str, Any]) -> tuple[Process | None, dict[str, Any]]:
    """The result of one request, and the process as it is from then on."""
    verb, args = request["cmd"], request["args"]
    if verb == "hello":
        return process, HELLO
    if verb == "reset":
        return Process(args), {}
    if verb == "bye":
        return process, {}
    if process is None:
        raise RuntimeError(f"{verb} ahead of any reset")
    match verb:
        case "command":
            return process, process.command(args["name"], args["args"], request["actor"])
        case "recover":
            return process, process.recover()
        case "set_time":
            process.set_time(args["clock"])
            return process, {}
        case "snapshot":
            return process, process.snapshot()
    raise Unsupported(verb)


def main() -> None:
    """Answer every line until the suite is gone."""
    process: Process | None = None
    for line in sys.stdin.buffer:
        request = json.loads(line)
        said: dict[str, Any]
        try:
            process, result = answer(process, request)
            said = {"outcome": "done", "result": result}
        except Unsupported as feature:
            said = {"outcome": "unsupported", "feature": str(feature), "reason": "not offered"}
        except Exception as error:
            said = {"outcome": "failed", "detail": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps({"id": request["id"], **said}) + "\n")
        sys.stdout.flush()
        if request["cmd"] == "bye":
            return


if __name__ == "__main__":
    main()
