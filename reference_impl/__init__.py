"""The SQLite reference implementation: one store kit, one package per protocol."""
