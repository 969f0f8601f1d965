"""Where the checkers of settle lanes register."""

from conformance.checkers.base import Registry

CHECKERS = Registry("settle-lanes")
