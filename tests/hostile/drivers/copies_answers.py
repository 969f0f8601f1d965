"""Answers a command with what it said to the one before."""

from sound import driver

kept = []
command = driver.command


def again(*args):
    kept.append(command(*args))
    return kept[max(0, len(kept) - 2)]


driver.command = again
driver.main()
