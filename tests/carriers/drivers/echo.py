"""Answers every request with its arguments and pid; fills stderr as much as ``noise`` asks."""

import json
import os
import sys

for line in sys.stdin:
    request = json.loads(line)
    sys.stderr.write("n" * request["args"].get("noise", 0))
    sys.stderr.flush()
    print(
        json.dumps({"id": request["id"], "outcome": "done", "result": {"pid": os.getpid(), **request["args"]}}),
        flush=True,
    )
