"""Gives every answer twice."""

import json

request = json.loads(input())
line = json.dumps({"id": request["id"], "outcome": "done", "result": {}})
print(f"{line}\n{line}", flush=True)
input()
