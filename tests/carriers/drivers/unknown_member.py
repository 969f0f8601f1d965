"""Puts what the implementation said beside the result instead of into it."""

import json

request = json.loads(input())
print(json.dumps({"id": request["id"], "outcome": "done", "result": {}, "status": "applied"}), flush=True)
input()
