"""Answers everything with nothing and, after `bye`, exits with the status that its argument names."""

import json
import sys

for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], "outcome": "done", "result": {}}), flush=True)
    if request["cmd"] == "bye":
        sys.exit(int(sys.argv[1]))
