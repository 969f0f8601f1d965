"""A driver for onceproof at rung L0, family mutation-host. It needs nothing but Python and its standard library.

Part one speaks the protocol: keep it. Part two is a tiny host that makes the driver whole from the first minute:
REPLACE IT by calls to your implementation. Stdout carries only the protocol; use stderr for everything else.
"""

import http.client
import json
import sqlite3
import sys
import uuid
from urllib.parse import urlsplit

# ---- part one: the driver. Keep it, and say who you are. ------------------------------------------------------------

HELLO = {
    "v": 1,
    "name": "payments",
    "version": "1.0",
    "language": "python",
    "families": ["mutation-host"],
    "rung": "L0",
    "clock": "real",
}


def say(**message):
    """One line of JSON, written at once."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main():
    """Answer every request until the suite is gone. At L0 one after the other is enough."""
    host = None
    for line in sys.stdin:
        request = json.loads(line)
        number, verb, args = request["id"], request["cmd"], request["args"]
        try:
            if verb == "hello":
                answer = done(HELLO)
            elif verb == "reset":
                # A second reset may come to the same process, and replaces everything.
                host = Host(args["state_dir"], args["remote"], args["config"])
                answer = done({})
            elif verb == "command":
                answer = command(host, args["name"], args["args"], number)
            elif verb == "recover":
                answer = done(host.recover())
            elif verb == "bye":
                answer = done({})
            else:
                answer = unsupported(verb, "this driver is at rung L0")
        except Exception as error:
            # `failed` says that the driver could not do its job. What the host refuses or does not know is `done`.
            answer = {"outcome": "failed", "detail": f"{type(error).__name__}: {error}"}
        say(id=number, **answer)
        if verb == "bye":
            return


def command(host, name, args, number):
    """One command of the family; docs/commands-mutation-host.md has them all."""
    if name == "host.invoke":
        # A call that has to wait for another one says so, once, and then looks again by itself.
        return done(
            host.invoke(args["context"], args["request"], lambda: say(event="waiting", id=number, on="command"))
        )
    return unsupported(name, "not offered yet")


def done(result):
    """The driver did its job; the host's own words are in the result."""
    return {"outcome": "done", "result": result}


def unsupported(feature, reason):
    """What this driver does not offer is listed as a gap."""
    return {"outcome": "unsupported", "feature": feature, "reason": reason}


# ---- part two: the implementation that everybody has: look the key up, POST, save what came back. --------------------


class Host:
    def __init__(self, state_dir, remote, config):
        self.remote, self.config = remote, config
        self.db = sqlite3.connect(f"{state_dir}/payments.db", isolation_level=None, timeout=5)
        self.db.execute("CREATE TABLE IF NOT EXISTS payments (key TEXT PRIMARY KEY, body TEXT, id TEXT, request TEXT)")

    def recover(self):
        return {"status": "done", "settled": 0}

    def invoke(self, context, request, waits):
        del context, waits  # whose key it is, and who else is under way: code of this kind does not ask
        key = request.get("idempotency_key")
        row = key and self.db.execute("SELECT body, id, request FROM payments WHERE key = ?", (key,)).fetchone()
        if row:
            return self.told(request, "success", "applied", json.loads(row[0]), row[1], row[2])
        attempt = str(uuid.uuid4())
        for _ in range(3):
            status, said = self.post(request)
            if status == 200:
                self.db.execute(
                    "INSERT OR REPLACE INTO payments VALUES (?, ?, ?, ?)",
                    (key, json.dumps(said), attempt, request["request_id"]),
                )
                return self.told(request, "success", "applied", said, attempt, None)
            if status and status < 500:
                return self.told(request, "error", "refused", None, attempt, None, "provider_refused")
        return self.told(request, "error", "not_attempted", None, attempt, None, "unavailable")

    def post(self, request):
        base = urlsplit(self.remote)
        wire = http.client.HTTPConnection(base.hostname, base.port, timeout=20)
        try:
            wire.request(
                "POST",
                f"/effect/{request['operation']}",
                json.dumps({"marker": request["input"]["marker"], "input": request["input"]}),
                {"Content-Type": "application/json"},
            )
            answer = wire.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            return None, None
        finally:
            wire.close()

    def told(self, request, status, classification, result, attempt, original, code=None):
        mutation = {
            "classification": classification,
            "attempt": {"instance": self.config["instance"], "id": attempt},
            "original_request_id": original,
            "replayed": original is not None,
            "cause": code,
        }
        said = {"version": "v1alpha2", "request_id": request["request_id"], "status": status, "mutation": mutation}
        return {**said, "result": result} if status == "success" else {**said, "error": {"code": code}}


if __name__ == "__main__":
    main()
