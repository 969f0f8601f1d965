"""One step of a CI server: the run, annotations, and the job summary. Inputs come from the environment.

Used by ``action.yml`` and by the GitLab job of ``docs/ci.md``; it calls ``onceproof run`` and nothing else, and its
exit code is that of the run.

======================  =====================================================
``ONCEPROOF_DRIVER``    the command line of the driver (required)
``ONCEPROOF_PROFILE``   profiles, separated by blanks (all that are offered)
``ONCEPROOF_BUDGET``    ``quick``, ``ci`` or ``nightly`` (``ci``)
``ONCEPROOF_BASELINE``  a file of known failures (none)
``ONCEPROOF_OUT``       the folder of the reports (``runs/latest``)
``GITHUB_STEP_SUMMARY`` where the job summary goes, if anywhere
``GITHUB_ACTIONS``      annotations are printed if it is ``true``
======================  =====================================================
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from conformance.cli import main as command


def arguments(environ: Mapping[str, str]) -> list[str]:
    """The words of ``onceproof run`` that these inputs mean."""
    words = ["run", "--driver", environ.get("ONCEPROOF_DRIVER", "")]
    for profile in environ.get("ONCEPROOF_PROFILE", "").split():
        words += ["--profile", profile]
    words += ["--budget", environ.get("ONCEPROOF_BUDGET") or "ci", "--out", str(_out(environ))]
    if environ.get("ONCEPROOF_BASELINE"):
        words += ["--baseline", environ["ONCEPROOF_BASELINE"]]
    return words


def step(environ: Mapping[str, str]) -> int:
    """Do the step; returns the exit code of the run."""
    record = _out(environ) / "run.jsonl"
    # What an earlier step left behind must not be mistaken for this run's.
    record.unlink(missing_ok=True)
    code = command(arguments(environ))
    if record.is_file():
        _tell(record, environ)
    return code


def _out(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("ONCEPROOF_OUT") or "runs/latest")


def _tell(record: Path, environ: Mapping[str, str]) -> None:
    from conformance.records import RecordError, read_run  # noqa: PLC0415
    from conformance.report.annotations import workflow_commands  # noqa: PLC0415
    from conformance.report.model import build  # noqa: PLC0415

    try:
        report = build(read_run(record))
    except RecordError:
        # The run has said why already.
        return
    if environ.get("GITHUB_ACTIONS") == "true":
        print(workflow_commands(report), end="")
    summary = record.parent / "summary.md"
    if environ.get("GITHUB_STEP_SUMMARY") and summary.is_file():
        with Path(environ["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as file:
            file.write(summary.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(step(os.environ))
