"""Starts a child that opens the FIFO of its first request for writing and lives for ever."""

import json
import subprocess
import sys

CHILD = "import signal, sys\nkeep = open(sys.argv[1], 'w')\nsignal.pause()"

request = json.loads(sys.stdin.readline())
subprocess.Popen([sys.executable, "-I", "-S", "-c", CHILD, request["args"]["fifo"]])
print(json.dumps({"id": request["id"], "outcome": "done", "result": {}}), flush=True)
sys.stdin.read()
