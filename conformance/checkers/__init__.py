"""Checkers: pure functions from a history to the cells it met and the violations it shows."""
