"""Reads one request, starts a child that keeps stdout open, and ends without an answer."""

import subprocess
import sys

sys.stdin.readline()
subprocess.Popen([sys.executable, "-I", "-S", "-c", "import signal\nsignal.pause()"], stdin=subprocess.DEVNULL)
