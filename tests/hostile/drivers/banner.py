"""Greets on stdout ahead of the protocol."""

from sound import driver

print("My Host 1.0 ready", flush=True)
driver.main()
