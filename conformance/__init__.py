"""The conformance suite: history, drivers, the scripted remote, faults, search, judging and reports."""
