"""Takes no hint: neither SIGTERM nor `bye` ends it."""

import signal

from sound import driver

signal.signal(signal.SIGTERM, signal.SIG_IGN)
driver.main()
signal.pause()
