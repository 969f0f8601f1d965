"""The queue of examples/queue_table behind a mask: `lying_queue.py LIE`, not hostile itself where LIE is `none`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples" / "queue_table"))
import driver

SLY = "\x1b]0;owned\x07\x1b[2J<script>alert(1)</script>\u202e\u2028"
told, seen = driver.Process.command, driver.Process.snapshot
ROWS = {
    "route": lambda row: row.update(route=SLY),
    "source": lambda row: row.update(source=row["source"] + SLY + "\nFAIL  forged"),
    "error": lambda row: row.update(error=SLY),
    "state": lambda row: row.update(state="processed"),
    "token": lambda row: row.update(token=SLY),
    "twice": lambda row: row.update(event=1),
    "ordinal": lambda row: row.update(ordinal=2**60),
    "negative": lambda row: row.update(not_before=-1),
}


def snapshot(self):
    result = seen(self)
    events = result["kinds"]["events"]
    if sys.argv[1] == "vanishing" and len(events) > 1:
        del events[0]
    for row in events if sys.argv[1] in ROWS else ():
        ROWS[sys.argv[1]](row)
    return result


def command(self, name, args, actor):
    result = told(self, name, args, actor)
    if sys.argv[1] == "payload" and name == "lane.input" and "rows" in result:
        result["rows"] = [{**row, "payload": SLY} for row in result["rows"]]
    if sys.argv[1] == "stranger" and name == "lane.claim" and "event" in result:
        result["event"] = 4711
    if sys.argv[1] == "silent-claim" and name == "lane.claim":
        result.pop("event", None)
    return result


driver.Process.snapshot, driver.Process.command = snapshot, command
driver.main()
