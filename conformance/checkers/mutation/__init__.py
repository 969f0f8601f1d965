"""Checkers of the mutation profile, one per live requirement, over one index of a mutation-host history."""

import importlib
import pkgutil

from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.registry import CHECKERS

for _module in pkgutil.iter_modules(__path__):
    # A module registers its checkers when it is imported.
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["CHECKERS", "Index"]
