"""Answers under another id."""

import json

request = json.loads(input())
print(json.dumps({"id": request["id"] + 100, "outcome": "done", "result": {}}), flush=True)
input()
