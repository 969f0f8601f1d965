"""An L0 driver with a blocking HTTP client and nothing of the kit: each command posts its ``marker`` once."""

import http.client
import json
import sys
from urllib.parse import urlsplit

remote = ""
for line in sys.stdin:
    request = json.loads(line)
    result = {}
    if request["cmd"] == "reset":
        remote = urlsplit(request["args"]["remote"]).netloc
    else:
        body = json.dumps({"marker": request["args"]["marker"], "input": {}})
        client = http.client.HTTPConnection(remote)
        try:
            client.request("POST", "/effect/thing", body)
            answer = client.getresponse()
            result = {"status": answer.status, "body": answer.read().decode()}
        except (OSError, http.client.HTTPException) as error:
            result = {"unknown": type(error).__name__}
    print(json.dumps({"id": request["id"], "outcome": "done", "result": result}), flush=True)
