"""The skeleton that `onceproof init` writes, to be spoiled in one place: not hostile itself."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
_FILE = ROOT / "conformance" / "families" / "mutation_host" / "skeleton" / "python" / "driver.py"
_SPEC = importlib.util.spec_from_file_location("skeleton", _FILE)
driver = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(driver)

if __name__ == "__main__":
    driver.main()
