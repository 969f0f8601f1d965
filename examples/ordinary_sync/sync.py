"""An ordinary sync job, as it stands in many repositories: read the row, POST it, save the id. Nothing here is a trick.

It has a unique key, a "not synced yet" check, a time limit on the request, and it commits what it learns.
"""

from __future__ import annotations

import http.client
import json
import sqlite3
import urllib.request
from pathlib import Path
from typing import Any

TIMEOUT_S = 30


class Sync:
    """Pushes rows of one local table to one remote collection."""

    def __init__(self, database: Path, base_url: str, path: str, id_path: str, mapping: dict[str, str]) -> None:
        self._db = sqlite3.connect(database, isolation_level=None)
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS rows"
            " (object TEXT, id TEXT, fields TEXT, remote_id TEXT, PRIMARY KEY (object, id))"
        )
        self._url = base_url.rstrip("/") + path
        self._id_path = id_path.split(".")
        self._mapping = mapping

    def write(self, source_object: str, ident: str, fields: dict[str, Any]) -> None:
        """Insert or change a row."""
        self._db.execute(
            "INSERT INTO rows (object, id, fields) VALUES (?, ?, ?)"
            " ON CONFLICT (object, id) DO UPDATE SET fields = excluded.fields",
            (source_object, ident, json.dumps(fields)),
        )

    def delete(self, source_object: str, ident: str) -> bool:
        """Remove a row."""
        return self._db.execute("DELETE FROM rows WHERE object = ? AND id = ?", (source_object, ident)).rowcount == 1

    def push(self, source_object: str, ident: str) -> str:
        """Push one row if it has no remote id yet; says what happened."""
        row = self._db.execute(
            "SELECT fields, remote_id FROM rows WHERE object = ? AND id = ?", (source_object, ident)
        ).fetchone()
        if row is None:
            return "refused"
        if row[1] is not None:
            return "linked"
        try:
            remote_id = self._post(json.loads(row[0]))
        except (OSError, ValueError, KeyError, http.client.HTTPException):
            # Logged, and tried again by the next run.
            return "failed"
        self._db.execute("UPDATE rows SET remote_id = ? WHERE object = ? AND id = ?", (remote_id, source_object, ident))
        return "finalized"

    def push_all(self) -> int:
        """Push everything that has no remote id yet."""
        waiting = self._db.execute("SELECT object, id FROM rows WHERE remote_id IS NULL").fetchall()
        return sum(self.push(source_object, ident) == "finalized" for source_object, ident in waiting)

    def _post(self, fields: dict[str, Any]) -> str:
        body = {target: fields[source] for source, target in self._mapping.items() if source in fields}
        request = urllib.request.Request(
            self._url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
            value = json.load(response)
        for name in self._id_path:
            value = value[name]
        return str(value)
