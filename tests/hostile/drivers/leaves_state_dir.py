"""Keeps its store where it was started, whatever the state directory."""

from sound import driver

connect = driver.sqlite3.connect
driver.sqlite3.connect = lambda _, **how: connect("host.db", **how)
driver.main()
