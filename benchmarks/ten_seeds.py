"""Runs the reference over ten seeds in both carriers, one line each. By hand: `python benchmarks/ten_seeds.py PROFILE`.

Exit status 1 if any run is not conformant, left a cell unmet or missed a fault. The output is committed in
benchmarks/results/ten_seeds_FAMILY.txt.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

SEEDS = range(10)
ONCEPROOF = Path(sys.executable).with_name("onceproof")
DRIVERS = ("reference", "reference:process")


def main(profiles: list[str]) -> int:
    """Run them all, one after the other, on these profiles."""
    failures = 0
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    print(f"profiles {', '.join(profiles)}, budget ci, commit {commit.stdout.strip()}")
    print("driver               seed  verdict       schedules  missed  cells     seconds")
    for driver in DRIVERS:
        for seed in SEEDS:
            with tempfile.TemporaryDirectory() as out:
                command = [
                    str(ONCEPROOF),
                    "run",
                    "--driver",
                    driver,
                    *(word for profile in profiles for word in ("--profile", profile)),
                    "--seed",
                    str(seed),
                    "--out",
                    out,
                ]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                report = json.loads((Path(out) / "report.json").read_text())
            met = sum(r["cells_met"] for r in report["requirements"])
            cells = sum(r["cells"] for r in report["requirements"])
            failures += bool(done.returncode or report["missed"] or met != cells)
            print(
                f"{driver:<20} {seed:>4}  {report['verdict']:<12}  {report['schedules']:>9}  {report['missed']:>6}"
                f"  {met:>3}/{cells:<3}  {report['seconds']:>9}",
                flush=True,
            )
    print(f"{failures} of {len(SEEDS) * len(DRIVERS)} runs fell short")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
