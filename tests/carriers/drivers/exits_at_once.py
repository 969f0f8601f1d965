"""Ends before it has read anything, with a word on stderr."""

import sys

sys.exit("no database configured")
