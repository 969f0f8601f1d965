"""Checkers of connector push, one per live requirement, over one index of a connector-push history."""

import importlib
import pkgutil

from conformance.checkers.push.index import Index
from conformance.checkers.push.registry import CHECKERS

for _module in pkgutil.iter_modules(__path__):
    # A module registers its checkers when it is imported.
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["CHECKERS", "Index"]
