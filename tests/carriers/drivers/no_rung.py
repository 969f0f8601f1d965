"""Forgets its rung in hello."""

import json
import sys

request = json.loads(sys.stdin.readline())
result = {"v": 1, "name": "x", "version": "1", "families": ["mutation-host"]}
print(json.dumps({"id": request["id"], "outcome": "done", "result": result}), flush=True)
sys.stdin.read()
