"""Reads everything and says nothing."""

import sys

sys.stdin.read()
