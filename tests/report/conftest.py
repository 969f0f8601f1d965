"""The command line in the test's own process, as the tests of the command line have it."""

from tests.cli.conftest import cli

__all__ = ["cli"]
