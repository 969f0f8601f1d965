"""Claims points that it does not have."""

from sound import driver

driver.HELLO |= {"rung": "L2", "clock": "virtual", "points": ["invoke.prepare:commit", "invoke.send:remote"]}
driver.main()
