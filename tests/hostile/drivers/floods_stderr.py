"""Logs a megabyte with every answer."""

import sys

from sound import driver

say = driver.say
driver.say = lambda **message: (sys.stderr.write("log " * 262_144), say(**message))
driver.main()
