"""The payments host at rung L1: a gate ahead of the request, one request, durable rows, and the suite's time.

Three things make L1 out of L0: commands run in a thread of their own, so that stdin is read meanwhile; all time comes
from `set_time`; `snapshot` reads the rows. It is no whole host: it knows no approvals, no credentials, no result
visibility and no cancel, and the suite says so.
"""

import contextlib
import http.client
import json
import sqlite3
import sys
import threading
import time
import uuid
from urllib.parse import urlsplit

HELLO = {
    "v": 1,
    "name": "payments-climbed",
    "version": "2.0",
    "language": "python",
    "families": ["mutation-host"],
    "rung": "L1",
    "clock": "virtual",
}
KNOWN = {"Completed": "applied", "Failed": "refused", "Aborted": "not_attempted", "Indeterminate": "unknown"}
SETTLED = {"Completed": "Replayable", "Failed": "Replayable", "Aborted": "Replayable", "Indeterminate": "Quarantined"}
SERVICE_MS, RETENTION_MS = 20_000, 86_400_000
SCHEMA = """
CREATE TABLE IF NOT EXISTS attempts
    (attempt PRIMARY KEY, request_id, operation, connection, caller, key, state, settled_at, code, result);
CREATE TABLE IF NOT EXISTS reservations
    (reservation PRIMARY KEY, namespace, key, fingerprint, attempt, state, settled_at, replay_expires_at);
CREATE UNIQUE INDEX IF NOT EXISTS live ON reservations (namespace, key) WHERE state <> 'Expired';
"""
ROWS = {
    "attempts": "SELECT attempt, request_id, operation, connection, caller, key, state, settled_at,"
    " 'not_required' AS approval, NULL AS approval_reference FROM attempts",
    "reservations": "SELECT * FROM reservations",
}


class Clock:
    """The suite's time, and the news of it: each reading is 1 ms later than the one before."""

    def __init__(self, given):
        self.changed, self.rounds, self.ticks, self.held = threading.Condition(), 0, 0, 0
        self.given = given

    def set(self, given):
        """What `set_time` brings; elapsed time never goes back."""
        with self.changed:
            elapsed = self.given["mono_ms"] + self.ticks
            self.given, self.ticks = {**given, "mono_ms": max(given["mono_ms"], elapsed)}, 0
            self.rounds += 1
            self.changed.notify_all()

    def read(self):
        """(wall, elapsed, trusted) of now."""
        with self.changed:
            self.ticks += 1
            return self.given["wall_ms"] + self.ticks, self.given["mono_ms"] + self.ticks, self.given["trusted"]


class Host:
    """Keeps attempts and reservations in one SQLite file and sends each effect at most once."""

    def __init__(self, args):
        self.remote, self.config, self.clock = args["remote"], args["config"], Clock(args["clock"])
        self.path = f"{args['state_dir']}/payments.db"
        with self.open() as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(SCHEMA)

    @contextlib.contextmanager
    def open(self):
        """A connection for one job, closed behind it."""
        db = sqlite3.connect(self.path, isolation_level=None, timeout=5)
        db.row_factory = sqlite3.Row
        try:
            yield db
        finally:
            db.close()

    def invoke(self, context, request, waits):
        """One payment: reserve, open the gate, send once, settle both rows together."""
        started = self.clock.read()[1]
        refusal = self.refused(context, request)
        if refusal:
            return {**head(request), "status": "error", "error": {"code": refusal}}
        with self.open() as db:
            return self.attempt(db, context, request, waits, started)

    def attempt(self, db, context, request, waits, started):
        """Admitted: a new attempt, or what became of the one that holds the key."""
        key, attempt, space = request.get("idempotency_key"), str(uuid.uuid4()), json.dumps(context, sort_keys=True)
        body = {k: v for k, v in request.items() if k not in ("request_id", "idempotency_key")}
        fingerprint = json.dumps([self.config["config_revision"], body], sort_keys=True)
        row = (attempt, request["request_id"], request["operation"], request["connection"], context["caller"], key)
        self.retire(db, space, key)
        try:
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?, 'Prepared', NULL, NULL, NULL)", row)
            if key is not None:
                held = (str(uuid.uuid4()), space, key, fingerprint, attempt)
                db.execute("INSERT INTO reservations VALUES (?, ?, ?, ?, ?, 'Pending', NULL, NULL)", held)
            db.execute("COMMIT")
        except sqlite3.IntegrityError:
            db.execute("ROLLBACK")
            return self.observe(db, space, key, fingerprint, request, waits, started)
        if not self.move(db, attempt, "Prepared", "Dispatching"):
            return self.told(request, "Aborted", "unavailable", None, attempt)
        outcome = self.send(request, started)
        self.settle(db, attempt, "Dispatching", *outcome)
        return self.told(request, *outcome, attempt)

    def refused(self, context, request):
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
        return "invalid_input" if (operation["idempotency"] == "keyed") != ("idempotency_key" in request) else None

    def retire(self, db, space, key):
        """A reservation whose retention is over, by a trusted clock, no longer holds its key."""
        wall, _, trusted = self.clock.read()
        if trusted:
            sql = "UPDATE reservations SET state = 'Expired' WHERE namespace = ? AND key = ? AND state = 'Replayable'"
            db.execute(f"{sql} AND replay_expires_at <= ?", (space, key, wall))

    def move(self, db, attempt, before, after):
        """A compare-and-set: whether this call moved the row."""
        sql = "UPDATE attempts SET state = ? WHERE attempt = ? AND state = ?"
        return db.execute(sql, (after, attempt, before)).rowcount == 1

    def settle(self, db, attempt, before, state, code, result):
        """The end of an attempt and of its reservation, together or not at all."""
        wall, _, trusted = self.clock.read()
        db.execute("BEGIN IMMEDIATE")
        sql = "UPDATE attempts SET state = ?, code = ?, result = ?, settled_at = ? WHERE attempt = ? AND state = ?"
        if db.execute(sql, (state, code, json.dumps(result), wall, attempt, before)).rowcount == 1:
            ends = wall + RETENTION_MS if trusted and SETTLED[state] == "Replayable" else None
            sql = "UPDATE reservations SET state = ?, settled_at = ?, replay_expires_at = ? WHERE attempt = ?"
            db.execute(sql, (SETTLED[state], wall, ends, attempt))
        db.execute("COMMIT")

    def send(self, request, started):
        """One request on one connection, given up when the service deadline is over by the suite's clock."""
        answered = []
        wire = threading.Thread(target=lambda: answered.append(self.post(request)), daemon=True)
        wire.start()
        while wire.is_alive():
            wire.join(0.002)
            if self.clock.given["mono_ms"] - started >= SERVICE_MS and wire.is_alive():
                return "Indeterminate", "timeout", None
        return answered[0]

    def post(self, request):
        """Two answers are definite; everything else proves nothing."""
        base = urlsplit(self.remote)
        wire = http.client.HTTPConnection(base.hostname, base.port)
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

    def observe(self, db, space, key, fingerprint, request, waits, started):
        """Somebody else has the key: repeat how that ended, wait for it, or refuse another request."""
        sql = (
            "SELECT a.*, r.fingerprint FROM reservations r JOIN attempts a USING (attempt)"
            " WHERE r.namespace = ? AND r.key = ? AND r.state <> 'Expired'"
        )
        while True:
            heard = self.clock.rounds
            row = db.execute(sql, (space, key)).fetchone()
            if row["fingerprint"] != fingerprint:
                return {**head(request), "status": "error", "error": {"code": "idempotency_conflict"}}
            if row["state"] in KNOWN:
                result = json.loads(row["result"] or "null")
                return self.told(request, row["state"], row["code"], result, row["attempt"], row["request_id"])
            if self.clock.read()[1] - started >= SERVICE_MS:
                return self.told(request, "Indeterminate", "timeout", None, row["attempt"], row["request_id"])
            waits()
            with self.clock.changed:
                self.clock.held += 1
                self.clock.changed.notify_all()
                self.clock.changed.wait_for(lambda: self.clock.rounds > heard)  # noqa: B023
                self.clock.held -= 1

    def recover(self):
        """What was not sent is aborted; of what may have been sent nobody knows. Nothing is ever sent again."""
        settled = 0
        with self.open() as db:
            for before, after, code in (("Prepared", "Aborted", "unavailable"), ("Dispatching", "Indeterminate", None)):
                for row in db.execute("SELECT attempt FROM attempts WHERE state = ?", (before,)).fetchall():
                    self.settle(db, row["attempt"], before, after, code, None)
                    settled += 1
        return {"status": "done", "settled": settled}

    def snapshot(self):
        """All durable rows in one consistent read."""
        with self.open() as db:
            db.execute("BEGIN")
            kinds = {kind: [dict(row) for row in db.execute(sql)] for kind, sql in ROWS.items()}
        return {"source": "store", "kinds": {**kinds, "spends": []}}

    def told(self, request, state, code, result, attempt, original=None):
        """What the caller is told of an attempt."""
        seen = {"classification": KNOWN[state], "attempt": {"instance": self.config["instance"], "id": attempt}}
        seen |= {"original_request_id": original, "replayed": original is not None, "cause": code}
        if state == "Completed":
            return {**head(request), "mutation": seen, "status": "success", "result": result}
        codes = {"Failed": code, "Aborted": "unavailable", "Indeterminate": "outcome_unknown"}
        return {**head(request), "mutation": seen, "status": "error", "error": {"code": codes[state]}}


def head(request):
    """What every answer begins with."""
    return {"version": "v1alpha2", "request_id": request["request_id"]}


class Driver:
    """Reads stdin all the time; what may take long runs in a thread of its own."""

    def __init__(self):
        self.host, self.lock, self.working = None, threading.Lock(), None

    def say(self, **message):
        """One line of JSON, written at once, by one thread at a time."""
        with self.lock:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    def work(self, number, job):
        """Run one command or recovery to its end."""
        try:
            self.say(id=number, **job())
        except Exception as error:
            self.say(id=number, outcome="failed", detail=f"{type(error).__name__}: {error}")

    def command(self, number, name, args):
        """One command of the family."""
        told = []

        def waits():
            if not told:
                told.append(True)
                self.say(event="waiting", id=number, on="command")

        if name == "host.invoke":
            return done(self.host.invoke(args["context"], args["request"], waits))
        return unsupported(name, "not offered yet")

    def set_time(self, given):
        """Give the time, and answer when all that became due is done or waits again."""
        clock, working = self.host.clock, self.working
        waited = clock.held
        clock.set(given)
        until = time.monotonic() + 0.25
        while waited and working.is_alive() and time.monotonic() < until:
            with clock.changed:
                if clock.held:
                    break
            working.join(0.002)
        return done({})

    def serve(self):
        """Answer every request until the suite is gone."""
        for line in sys.stdin:
            message = json.loads(line)
            number, verb, args = message["id"], message["cmd"], message["args"]
            jobs = {"command": lambda n, a: self.command(n, a["name"], a["args"]), "recover": self.recover}
            if verb in jobs:
                self.working = threading.Thread(
                    target=self.work, args=(number, lambda j=jobs[verb], n=number, a=args: j(n, a)), daemon=True
                )
                self.working.start()
                continue
            answers = {
                "hello": lambda _: done(HELLO),
                "reset": self.reset,
                "set_time": lambda a: self.set_time(a["clock"]),
                "snapshot": lambda _: done(self.host.snapshot()),
                "bye": lambda _: done({}),
            }
            refused = unsupported(verb, "this driver is at rung L1")
            self.say(id=number, **(answers[verb](args) if verb in answers else refused))
            if verb == "bye":
                return

    def reset(self, args):
        """A second reset replaces everything."""
        self.host, self.working = Host(args), None
        return done({})

    def recover(self, number, args):
        """The implementation's own recovery."""
        del number, args
        return done(self.host.recover())


def done(result):
    """The driver did its job; the host's own words are in the result."""
    return {"outcome": "done", "result": result}


def unsupported(feature, reason):
    """What this driver does not offer is listed as a gap."""
    return {"outcome": "unsupported", "feature": feature, "reason": reason}


if __name__ == "__main__":
    Driver().serve()
