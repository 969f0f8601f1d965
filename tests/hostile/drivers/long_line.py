"""Says who it is in 5 MiB."""

from sound import driver

driver.HELLO["name"] = "x" * 5 * 1024 * 1024
driver.main()
