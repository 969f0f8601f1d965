"""Published reports: ``reports/<implementation>/<version>/``, written from a run by one command, never by hand.

reports/README.md states the rules; this module enforces them.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Final

from conformance.report.compare import compare
from conformance.report.model import Report
from conformance.report.write import FORMATS, conclude, write

#: The run record as it is published.
RECORD: Final = "run.jsonl.gz"
#: A version as releases have it; a branch, a tag that moves or a sentence is none.
_VERSION: Final = re.compile(r"v?\d+(\.\d+)*([-+.][0-9A-Za-z][0-9A-Za-z.-]*)?")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class NotPublishable(Exception):
    """The run breaks a rule of publication; the message is one sentence that says which."""


def folder_of(report: Report, root: Path) -> Path:
    """Where the report of this run belongs below ``root``; raises NotPublishable for a bad name or version."""
    identity = report.header["identity"]
    name, version = str(identity["name"]), str(identity["version"])
    if not _NAME.fullmatch(name):
        raise NotPublishable(f"the implementation's name {name!r} cannot name a folder: letters, digits, dots, dashes")
    if not _VERSION.fullmatch(version):
        raise NotPublishable(f"{version!r} is no version such as 1.4.2; a report is of a release, never of a branch")
    return root / name / version


def publish(run: Path, root: Path) -> Path:
    """Publish a run below ``root`` and return its folder.

    Raises RecordError for a bad record, NotPublishable for a run that breaks a rule, OSError for a folder that cannot
    be written.
    """
    report = conclude(run, foreign=True)
    _keeps_the_rules(report)
    folder = folder_of(report, root)
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.iterdir():
        if stale.is_file():
            stale.unlink()
    record = gzip.decompress(run.read_bytes()) if run.suffix == ".gz" else run.read_bytes()
    # No time and no name inside: the same record gives the same file.
    (folder / RECORD).write_bytes(gzip.compress(record, 9, mtime=0))
    for failure in report.failures:
        text = json.dumps(failure.trace.to_json(), indent=1) + "\n"
        (folder / Path(failure.file).name).write_text(text, encoding="utf-8")
    write(report, folder)
    return folder


def _keeps_the_rules(report: Report) -> None:
    header = report.header
    if report.footer["interrupted"] or not report.complete:
        raise NotPublishable("the run did not end; only a complete run is published")
    if header["filtered"]:
        raise NotPublishable("the run was filtered; only a run of everything that the driver offers is published")
    if header["baseline"]:
        raise NotPublishable("the run had a baseline; what is published excuses nothing")
    if header["budget"] == "quick":
        raise NotPublishable("the budget quick proves nothing; publish a run of the budget ci or nightly")
    if report.verdict.verdict == "none":
        raise NotPublishable(f"the run has no verdict: {report.verdict.why}")


def drift(run: Path, root: Path) -> list[str]:
    """How the published report differs from this run in what must not drift, a sentence each.

    Compared are the specification, the verdict, and each requirement with its status and the cells that occurred; not
    compared are times, counts and dates. Raises RecordError and NotPublishable as :func:`publish` does.
    """
    now = conclude(run, foreign=True)
    folder = folder_of(now, root)
    if not (folder / RECORD).is_file():
        return [f"{folder} has no published report of this version"]
    published = conclude(folder / RECORD, foreign=True)
    found = compare(published, now)
    told = []
    if published.header["spec"] != now.header["spec"]:
        told.append(f"{folder} is about another specification ({published.header['spec'][:12]})")
    if found.before != found.after:
        told.append(f"{folder} says {found.before}, the run says {found.after}")
    for c in found.changes:
        if c.change != "same" or c.lost or c.gained:
            told.append(f"{c.id}: {c.before or 'absent'} there, {c.after or 'absent'} here")
    for file, text in _rendered(published).items():
        if not (folder / file).is_file() or (folder / file).read_text(encoding="utf-8") != text:
            told.append(f"{folder / file} is not what its {RECORD} gives with this version of the suite")
    return told


def _rendered(report: Report) -> dict[str, str]:

    return {file: make(report) for file, make in FORMATS.values()}
