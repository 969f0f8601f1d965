"""Where the checkers of connector push register."""

from conformance.checkers.base import Registry

CHECKERS = Registry("connector-push")
