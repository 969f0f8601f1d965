"""The specification as data: load, validate, compile, lint, and the mathematics of lane order."""
