"""The configuration in force on one state directory, for every process that works there (feature ``live_config``)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Config = Mapping[str, Any]
_FILE = "configuration.json"


class Settings:
    """What the operator has configured, read anew for every decision: nobody keeps yesterday's policy in a cache.

    A process that is opened with another document puts it in force for those that already run. The file is the
    operator's, not the ledger's: it is replaced whole, and reading it is no step of a procedure.
    """

    def __init__(self, folder: Path, config: Config, *, fresh: bool) -> None:
        self._path = folder / _FILE
        self._text = json.dumps(config, sort_keys=True)
        self._config = config
        if fresh or not self._path.exists() or self._path.read_text(encoding="utf-8") != self._text:
            self._put()

    def current(self) -> Config:
        """The document as it stands now."""
        text = self._path.read_text(encoding="utf-8")
        if text != self._text:
            self._text, self._config = text, json.loads(text)
        return self._config

    def _put(self) -> None:
        partial = self._path.with_name(f"{_FILE}.{os.getpid()}.{id(self)}")
        partial.write_text(self._text, encoding="utf-8")
        partial.replace(self._path)
