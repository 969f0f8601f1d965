"""Thinks for a while ahead of every answer."""

import time

from sound import driver

say = driver.say
driver.say = lambda **message: (time.sleep(0.02), say(**message))
driver.main()
