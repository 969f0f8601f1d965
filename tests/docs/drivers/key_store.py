"""A driver at rung L0, written from docs/ alone, around a small host on SQLite. It imports nothing of the suite."""

import hashlib
import http.client
import json
import sqlite3
import sys
import threading
import time
import uuid
from urllib.parse import urlsplit

HELLO = {"v": 1, "name": "key-store", "version": "1", "families": ["mutation-host"], "rung": "L0"}
KNOWN = {"Completed": "applied", "Failed": "refused", "Aborted": "not_attempted", "Indeterminate": "unknown"}
writing = threading.Lock()
setup = {}


def say(message_id, outcome, **members):
    line = json.dumps({"id": message_id, "outcome": outcome, **members} if outcome else members)
    with writing:
        print(line, flush=True)


def ledger():
    db = sqlite3.connect(f"{setup['state_dir']}/keys.db", isolation_level=None, timeout=5)
    db.execute("CREATE TABLE IF NOT EXISTS a (id PRIMARY KEY, space, key, print, request, state, code, result)")
    db.execute("CREATE UNIQUE INDEX IF NOT EXISTS live ON a (space, key) WHERE key IS NOT NULL")
    return db


def move(db, attempt, before, after, code=None, result=None):
    sql = "UPDATE a SET state = ?, code = ?, result = ? WHERE id = ? AND state = ?"
    return db.execute(sql, (after, code, json.dumps(result), attempt, before)).rowcount == 1


def post(request):
    base = urlsplit(setup["remote"])
    wire = http.client.HTTPConnection(base.hostname, base.port, timeout=9)
    body = json.dumps({"marker": request["input"]["marker"], "input": request["input"]})
    try:
        wire.request("POST", f"/effect/{request['operation']}", body, {"Content-Type": "application/json"})
        answer = wire.getresponse()
        said = json.loads(answer.read())
    except (OSError, http.client.HTTPException, ValueError):
        return "Indeterminate", "outcome_unknown", None
    if answer.status == 200 and said.get("effect") == "done":
        return "Completed", None, {k: v for k, v in said.items() if k != "effect"}
    if answer.status == 422 and said.get("effect") == "none":
        return "Failed", said["code"], None
    return "Indeterminate", "outcome_unknown", None


def answer(request, state, code, result, attempt, original=None):
    seen = {"classification": KNOWN[state], "attempt": {"instance": setup["config"]["instance"], "id": attempt}}
    seen |= {"original_request_id": original, "replayed": original is not None, "cause": code}
    head = {"version": "v1alpha2", "request_id": request["request_id"], "mutation": seen}
    if state == "Completed":
        return {**head, "status": "success", "result": result}
    return {**head, "status": "error", "error": {"code": code or "unavailable"}}


def refuse(request, code):
    return {"version": "v1alpha2", "request_id": request["request_id"], "status": "error", "error": {"code": code}}


def invoke(context, request, wait):
    config, key = setup["config"], request.get("idempotency_key")
    who = {k: v for k, v in context.items() if k != "origin"}
    if not any({**who, "may": c["may"]} == c and request["operation"] in c["may"] for c in config["callers"]):
        return refuse(request, "forbidden")
    operation = next((o for o in config["operations"] if o["id"] == request["operation"]), None)
    if operation is None or operation["connection"] != request["connection"]:
        return refuse(request, "not_found")
    if (operation["idempotency"] == "keyed") != (key is not None):
        return refuse(request, "invalid_input")
    content = [
        config["config_revision"],
        {k: v for k, v in request.items() if k not in ("request_id", "idempotency_key")},
    ]
    fingerprint = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    space, attempt, db = json.dumps(context, sort_keys=True), str(uuid.uuid4()), ledger()
    try:
        new = (attempt, space, key, fingerprint, request["request_id"])
        db.execute("INSERT INTO a VALUES (?, ?, ?, ?, ?, 'Prepared', NULL, NULL)", new)
    except sqlite3.IntegrityError:
        return observe(db, space, key, fingerprint, request, wait)
    if not move(db, attempt, "Prepared", "Dispatching"):
        return answer(request, "Aborted", "unavailable", None, attempt)
    outcome = post(request)
    move(db, attempt, "Dispatching", *outcome)
    return answer(request, *outcome, attempt)


def observe(db, space, key, fingerprint, request, wait):
    sql = "SELECT id, print, request, state, code, result FROM a WHERE space = ? AND key = ?"
    while True:
        attempt, theirs, original, state, code, result = db.execute(sql, (space, key)).fetchone()
        if theirs != fingerprint:
            return refuse(request, "idempotency_conflict")
        if state in KNOWN:
            return answer(request, state, code, json.loads(result or "null"), attempt, original)
        wait()


def recover():
    db = ledger()
    closed = db.execute("UPDATE a SET state = 'Aborted', code = 'unavailable' WHERE state = 'Prepared'").rowcount
    sql = "UPDATE a SET state = 'Indeterminate', code = 'outcome_unknown' WHERE state = 'Dispatching'"
    return {"status": "done", "settled": closed + db.execute(sql).rowcount}


def work(message):
    said = []

    def wait():
        if not said:
            said.append(say(None, None, event="waiting", id=message["id"], on="command"))
        time.sleep(0.005)

    args = message["args"]["args"]
    say(message["id"], "done", result=invoke(args["context"], args["request"], wait))


for line in sys.stdin:
    message = json.loads(line)
    cmd, number = message["cmd"], message["id"]
    if cmd == "hello":
        say(number, "done", result=HELLO)
    elif cmd == "reset":
        setup = message["args"]
        ledger()
        say(number, "done", result={})
    elif cmd == "recover":
        say(number, "done", result=recover())
    elif cmd == "command" and message["args"]["name"] == "host.invoke":
        threading.Thread(target=work, args=[message], daemon=True).start()
    elif cmd == "bye":
        say(number, "done", result={})
        break
    else:
        feature = message["args"].get("name", cmd)
        say(number, "unsupported", feature=feature, reason="this driver is at rung L0")
