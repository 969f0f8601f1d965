"""Claims the highest rung and offers the lowest."""

from sound import driver

driver.HELLO |= {"rung": "L2", "clock": "virtual"}
driver.main()
