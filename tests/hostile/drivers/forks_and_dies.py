"""A wrapper that starts the driver proper and ends, so that a child holds its stdout."""

import subprocess
import sys
from pathlib import Path

subprocess.Popen([sys.executable, Path(__file__).with_name("never_answers.py")])
