"""Starts a helper in a session of its own, where no kill of the group reaches it."""

import subprocess
import sys

from sound import driver

LOOP = "import signal\nsignal.pause()"
subprocess.Popen([sys.executable, "-c", LOOP], start_new_session=True, stdin=-3, stdout=-3, stderr=-3)
driver.main()
