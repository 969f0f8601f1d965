"""The command line: ``onceproof``."""

from conformance.cli.main import main

__all__ = ["main"]
