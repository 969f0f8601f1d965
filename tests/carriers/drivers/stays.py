"""Answers `hello` and `bye` as it should, and then does not exit."""

import json
import signal
import sys

IDENTITY = {"v": 1, "name": "stays", "version": "1", "families": ["mutation-host"], "rung": "L0"}
for line in sys.stdin:
    request = json.loads(line)
    result = IDENTITY if request["cmd"] == "hello" else {}
    print(json.dumps({"id": request["id"], "outcome": "done", "result": result}), flush=True)
    if request["cmd"] == "bye":
        signal.pause()
