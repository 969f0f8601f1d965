"""Every checker proved: history mutants that must be named, near misses that must pass."""
