"""Where the mutation checkers register."""

from conformance.checkers.base import Registry

CHECKERS = Registry("mutation-host")
