"""A driver for onceproof at rung L0, family mutation-host. It needs nothing but Python and its standard library.

Part one speaks the protocol: keep it. Part two is a tiny host that makes the driver whole from the first minute:
REPLACE IT by calls to your implementation. Stdout carries only the protocol; use stderr for everything else.
"""

import hashlib
import http.client
import json
import sqlite3
import sys
import time
import uuid
from urllib.parse import urlsplit

# ---- part one: the driver. Keep it, and say who you are. ------------------------------------------------------------

HELLO = {
    "v": 1,
    "name": "my-host",
    "version": "0",
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


# ---- part two: a tiny host. REPLACE ALL OF THIS by calls to your implementation. ------------------------------------

KNOWN = {"Completed": "applied", "Failed": "refused", "Aborted": "not_attempted", "Indeterminate": "unknown"}
WAIT_S = 20


class Host:
    """Keeps attempts in one SQLite file and sends each effect at most once."""

    def __init__(self, state_dir, remote, config):
        self.remote, self.config = remote, config
        self.db = sqlite3.connect(f"{state_dir}/host.db", isolation_level=None, timeout=5)
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS a (id PRIMARY KEY, space, key, print, request, state, code, result)"
        )
        self.db.execute("CREATE UNIQUE INDEX IF NOT EXISTS live ON a (space, key) WHERE key IS NOT NULL")

    def invoke(self, context, request, waits):
        """One mutation: reserve the key, open the gate, send once, remember what came of it."""
        refusal = self.check(context, request)
        if refusal:
            return self.error(request, refusal)
        key = request.get("idempotency_key")
        content = {k: v for k, v in request.items() if k not in ("request_id", "idempotency_key")}
        fingerprint = digest([self.config["config_revision"], content])
        attempt, space = str(uuid.uuid4()), json.dumps(context, sort_keys=True)
        try:
            row = (attempt, space, key, fingerprint, request["request_id"])
            self.db.execute("INSERT INTO a VALUES (?, ?, ?, ?, ?, 'Prepared', NULL, NULL)", row)
        except sqlite3.IntegrityError:
            return self.observe(space, key, fingerprint, request, waits)
        if not self.move(attempt, "Prepared", "Dispatching"):
            return self.answer(request, "Aborted", "unavailable", None, attempt)
        outcome = self.send(request)
        self.move(attempt, "Dispatching", *outcome)
        return self.answer(request, *outcome, attempt)

    def recover(self):
        """What was not sent is aborted; of what may have been sent nobody knows. Nothing is ever sent again."""
        move = "UPDATE a SET state = ?, code = ? WHERE state = ?"
        closed = self.db.execute(move, ("Aborted", "unavailable", "Prepared")).rowcount
        return {
            "status": "done",
            "settled": closed + self.db.execute(move, ("Indeterminate", None, "Dispatching")).rowcount,
        }

    def check(self, context, request):
        """The code of the first check that refuses, or None."""
        who = {k: v for k, v in context.items() if k != "origin"}
        callers = [c for c in self.config["callers"] if all(c.get(k) == v for k, v in who.items())]
        operation = next((o for o in self.config["operations"] if o["id"] == request["operation"]), None)
        if not any(request["operation"] in c["may"] for c in callers):
            return "forbidden"
        if operation is None or operation["connection"] != request["connection"]:
            return "not_found"
        if operation["revision"] != request["revision"]:
            return "stale_description"
        if not operation["enabled"]:
            return "forbidden"
        if (operation["idempotency"] == "keyed") != bool(request.get("idempotency_key")):
            return "invalid_input"
        return None

    def send(self, request):
        """One request on one connection. Two answers are definite; everything else proves nothing."""
        base = urlsplit(self.remote)
        wire = http.client.HTTPConnection(base.hostname, base.port, timeout=WAIT_S)
        body = json.dumps({"marker": request["input"]["marker"], "input": request["input"]})
        try:
            wire.request("POST", f"/effect/{request['operation']}", body, {"Content-Type": "application/json"})
            answer = wire.getresponse()
            said = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            return "Indeterminate", None, None
        finally:
            wire.close()
        if answer.status == 200 and said.get("effect") == "done":
            return "Completed", None, {k: v for k, v in said.items() if k != "effect"}
        if answer.status == 422 and said.get("effect") == "none":
            return "Failed", said.get("code"), None
        return "Indeterminate", None, None

    def observe(self, space, key, fingerprint, request, waits):
        """Somebody else has the key: repeat how that ended, wait for it, or refuse another request."""
        sql = "SELECT id, print, request, state, code, result FROM a WHERE space = ? AND key = ?"
        until, told = time.monotonic() + WAIT_S, False
        while True:
            attempt, theirs, original, state, code, result = self.db.execute(sql, (space, key)).fetchone()
            if theirs != fingerprint:
                return self.error(request, "idempotency_conflict")
            if state in KNOWN or time.monotonic() > until:
                ended = (state, code) if state in KNOWN else ("Indeterminate", "timeout")
                return self.answer(request, *ended, json.loads(result or "null"), attempt, original)
            if not told:
                waits()
                told = True
            time.sleep(0.005)

    def move(self, attempt, before, after, code=None, result=None):
        """A compare-and-set: whether this call moved the row."""
        sql = "UPDATE a SET state = ?, code = ?, result = ? WHERE id = ? AND state = ?"
        return self.db.execute(sql, (after, code, json.dumps(result), attempt, before)).rowcount == 1

    def answer(self, request, state, code, result, attempt, original=None):
        """What the caller is told of an attempt."""
        seen = {"classification": KNOWN[state], "attempt": {"instance": self.config["instance"], "id": attempt}}
        seen |= {"original_request_id": original, "replayed": original is not None, "cause": code}
        head = {"version": "v1alpha2", "request_id": request["request_id"], "mutation": seen}
        if state == "Completed":
            return {**head, "status": "success", "result": result}
        codes = {"Failed": "provider_refused", "Aborted": "unavailable", "Indeterminate": "outcome_unknown"}
        return {**head, "status": "error", "error": {"code": codes[state]}}

    def error(self, request, code):
        """A refusal ahead of any attempt."""
        return {"version": "v1alpha2", "request_id": request["request_id"], "status": "error", "error": {"code": code}}


def digest(value):
    """A text that is equal for equal values."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


if __name__ == "__main__":
    main()
