"""Carriers: how the suite reaches driver processes, real or simulated, through the same messages."""
