"""Counts its answers by itself."""

from sound import driver

say = driver.say
driver.say = lambda **message: say(**{**message, "id": message["id"] + 100})
driver.main()
