"""Never reads its input."""

import signal

signal.pause()
