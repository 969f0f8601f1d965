"""Uses the outcome for what the implementation said."""

import json

request = json.loads(input())
print(json.dumps({"id": request["id"], "outcome": "applied", "result": {}}), flush=True)
input()
