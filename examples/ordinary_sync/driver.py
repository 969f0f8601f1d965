"""The ordinary sync job behind the driver protocol, rung L0: a loop over stdin, one answer to each line.

onceproof run --driver "python examples/ordinary_sync/driver.py" --profile connector-push --budget ci
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sync import Sync

Message = Mapping[str, Any]

IDENTITY = {
    "v": 1,
    "name": "ordinary-sync",
    "version": "1",
    "language": "python",
    "issues": "",
    "families": ["connector-push"],
    "features": [],
    "rung": "L0",
    "clock": "real",
    "readings": {},
}


class Driver:
    """Nine verbs over one job; what it does not have it calls unsupported."""

    def __init__(self) -> None:
        self._jobs: dict[str, Sync] = {}

    def answer(self, message: Message) -> dict[str, Any]:
        """The answer to one request."""
        verb = message["cmd"]
        if verb == "hello":
            return _done(IDENTITY)
        if verb == "reset":
            self._reset(message["args"])
            return _done({})
        if verb == "command":
            return self._command(message["args"]["name"], message["args"]["args"])
        if verb == "recover":
            return _done({"status": "done"})
        if verb == "bye":
            return _done({})
        return _unsupported(verb, "this driver is on rung L0")

    def _reset(self, args: Message) -> None:
        database = Path(args["state_dir"]) / "rows.db"
        for pack in args["config"]["packs"]:
            for action in pack["actions"]:
                mapping = {row["source"]: row["target"] for row in action["mappings"]}
                job = Sync(database, args["remote"], action["create_path"], action["response_id_path"], mapping)
                self._jobs[action["source_object"]] = job

    def _command(self, name: str, args: Message) -> dict[str, Any]:
        if name == "push.work":
            return _done({"status": "done", "counts": {"finalized": sum(j.push_all() for j in self._jobs.values())}})
        job = self._jobs.get(str(args.get("object")))
        if job is None:
            return _unsupported(name, "the job knows no such object")
        if name == "push.write_record":
            job.write(args["object"], args["id"], args["fields"])
            return _done({"status": "done"})
        if name == "push.delete_record":
            return _done({"status": "done" if job.delete(args["object"], args["id"]) else "absent"})
        if name == "push.trigger":
            return _done({"pushes": [{"action": "push_contact", "status": job.push(args["object"], args["id"])}]})
        return _unsupported(name, "the job has no such thing")


def _done(result: Mapping[str, Any]) -> dict[str, Any]:
    return {"outcome": "done", "result": dict(result)}


def _unsupported(feature: str, reason: str) -> dict[str, Any]:
    return {"outcome": "unsupported", "feature": feature, "reason": reason}


def main() -> None:
    """Answer until stdin ends."""
    driver = Driver()
    for line in sys.stdin:
        message = json.loads(line)
        print(json.dumps({"id": message["id"], **driver.answer(message)}), flush=True)
        if message["cmd"] == "bye":
            return


if __name__ == "__main__":
    main()
