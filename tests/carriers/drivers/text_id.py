"""Sends the id back as text."""

import json

request = json.loads(input())
print(json.dumps({"id": str(request["id"]), "outcome": "done", "result": {}}), flush=True)
input()
