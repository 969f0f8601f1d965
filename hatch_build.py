"""Puts the compiled specification into the wheel, so that what is installed starts without YAML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledSpecification(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles spec/ at each wheel build; a specification with faults stops the build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write build/wheel-spec.json and have it packed as statemachines/_spec/spec.json."""
        if version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, self.root)
        try:
            from statemachines.spec import compile_to  # noqa: PLC0415
        finally:
            sys.path.remove(self.root)
        place = root / "build" / "wheel-spec.json"
        compile_to(place, root / "spec")
        build_data["force_include"][str(place)] = "statemachines/_spec/spec.json"
