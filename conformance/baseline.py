"""Known failures and declared gaps: a file that excuses a requirement with a reason, and must stay true (DESIGN 7).

An entry never hides anything. The requirement is still run and judged; the entry only says that this very failure is
expected. One that matches nothing, whose requirement passes, whose failure has changed, or whose time is over, fails
the run. The file travels inside ``run.jsonl``, so every report can be computed from that alone.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from conformance.verdict import Standing
from statemachines.source_map import Document, read
from statemachines.spec import Spec

#: What a known failure may be pinned to.
FAILING: Final = ("fail", "unstable", "uncovered", "untestable")
_MEMBERS: Final = {
    "known_failures": dict.fromkeys(("id", "status", "shows", "reason", "issue", "expires")).keys(),
    "declared_gaps": dict.fromkeys(("id", "reason", "issue")).keys(),
}
_HEAD: Final = """\
# Known failures and declared gaps of one implementation. Each entry is still run and judged: one whose requirement
# passes, whose failure has changed, that matches nothing, or that has expired, fails the run.
"""
#: Ids, counts and times differ from run to run; words do not.
_VARIES: Final = re.compile(r"\S*\d\S*")


class BaselineError(Exception):
    """The file cannot be used; the sentence says where and what to do (exit code 2)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One excused requirement. ``shows`` pins how it fails, ``expires`` is the last day on which it is excused."""

    id: str
    kind: str
    reason: str
    issue: str
    status: str | None = None
    shows: str | None = None
    expires: str | None = None

    def to_json(self) -> dict[str, Any]:
        """For the header of a run record."""
        members = ("id", "kind", "reason", "issue", "status", "shows", "expires")
        return {m: getattr(self, m) for m in members if getattr(self, m) is not None}

    @staticmethod
    def from_json(obj: Mapping[str, Any]) -> Entry:
        """From the header of a run record."""
        return Entry(**{str(k): v for k, v in obj.items()})


def shape(happened: str) -> str:
    """A sentence about a failure without what differs between runs (every word with a digit)."""
    return _VARIES.sub("#", happened)


def read_baseline(path: Path, spec: Spec) -> tuple[Entry, ...]:
    """The entries of a baseline file; raises BaselineError with file, line and what to do."""
    document, findings = read(path, str(path))
    if document is None or findings:
        raise BaselineError(str(findings[0]))
    data = document.data
    if not isinstance(data, dict) or not data or set(data) - set(_MEMBERS):
        raise BaselineError(f"{path}: a baseline holds {' and '.join(_MEMBERS)}, each a list, and nothing else")
    entries: dict[str, Entry] = {}
    for kind in _MEMBERS:
        listed = data.get(kind) or []
        if not isinstance(listed, list):
            raise BaselineError(f"{_place(document, kind)}: {kind} is a list of entries")
        for number, item in enumerate(listed):
            entry = _entry(_place(document, kind, number), kind, item, spec)
            if entry.id in entries:
                raise BaselineError(f"{_place(document, kind, number)}: {entry.id} has two entries; keep one")
            entries[entry.id] = entry
    return tuple(entries.values())


def _place(document: Document, *path: str | int) -> str:
    line, _ = document.at(path)
    return f"{document.file}:{line}"


def _entry(where: str, kind: str, item: object, spec: Spec) -> Entry:
    members = _MEMBERS[kind]
    if not isinstance(item, dict):
        raise BaselineError(f"{where}: an entry is a mapping of {', '.join(sorted(members))}")
    lacking, unknown = sorted(members - set(item)), sorted(set(item) - members)
    if lacking:
        raise BaselineError(f"{where}: it lacks {', '.join(lacking)}")
    if unknown:
        raise BaselineError(f"{where}: nothing here is called {', '.join(unknown)}; known are {', '.join(members)}")
    for member, value in item.items():
        if not isinstance(value, str) or not value.strip():
            raise BaselineError(f"{where}: {member} has to be a text that says something")
    if item["id"] not in spec.requirements:
        raise BaselineError(f"{where}: {item['id']} is no requirement of this specification; see `onceproof list`")
    if kind == "declared_gaps":
        return Entry(kind="declared-gap", **item)
    if item["status"] not in FAILING:
        raise BaselineError(f"{where}: status {item['status']!r} is none of {', '.join(FAILING)}")
    if not is_day(item["expires"]):
        raise BaselineError(f"{where}: expires {item['expires']!r} is no day such as 2027-03-31")
    return Entry(kind="known-failure", **item)


def is_day(text: str) -> bool:
    """Whether this is a day in the form 2027-03-31."""
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def excuse(
    found: Sequence[Standing],
    entries: Sequence[Entry],
    happened: Mapping[str, str],
    started: str,
    filtered: bool,
) -> tuple[list[Standing], list[str]]:
    """The standings with excused statuses, and one complaint for each entry that is not true (any more).

    ``happened`` maps a requirement to what its first failure showed; ``started`` is the day of the run (ISO). A
    filtered run does not complain about entries whose requirement it left out.
    """
    by_id = {s.requirement.id: s for s in found}
    excused: dict[str, str] = {}
    complaints = []
    for entry in entries:
        standing = by_id.get(entry.id)
        complaint = _untrue(entry, standing, happened.get(entry.id), started[:10])
        if complaint is None:
            excused[entry.id] = entry.kind
        elif not (standing is None and filtered):
            complaints.append(complaint)
    return [replace(s, status=excused.get(s.requirement.id, s.status)) for s in found], complaints


def _untrue(entry: Entry, standing: Standing | None, happened: str | None, today: str) -> str | None:
    if standing is None or standing.status in ("out-of-tier", "not-applicable"):
        why = "is not judged in this run" if standing is None else f"is {standing.status}"
        return f"{entry.id} is in the baseline and {why}: take the entry out"
    if standing.status == "pass":
        return f"{entry.id} is in the baseline and passes: take the entry out"
    if entry.kind == "declared-gap":
        return None
    if entry.expires is not None and today > entry.expires:
        return f"{entry.id} was excused until {entry.expires}: mend it, or renew the entry with a reason"
    if standing.status != entry.status:
        return f"{entry.id} is {standing.status}, while the baseline knows it as {entry.status}: look at it again"
    shows = shape(happened) if happened is not None else shape(_unmet(standing))
    if shows != entry.shows:
        return f"{entry.id} fails in another way than the baseline knows: now {shows!r}; look at it again"
    return None


def _unmet(standing: Standing) -> str:
    return f"never occurred: {', '.join(standing.unmet)}"


def failing(found: Sequence[Standing], happened: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """(id, status, what it shows) of every requirement that a baseline could excuse."""
    for s in found:
        if s.status in FAILING:
            yield s.requirement.id, s.status, shape(happened.get(s.requirement.id, _unmet(s)))


def baseline_text(failures: Sequence[tuple[str, str, str]], reason: str, issue: str, expires: str) -> str:
    """A baseline file that excuses these failures, each with the same reason, issue and last day."""
    entries = [
        {"id": id_, "status": status, "shows": shows, "reason": reason, "issue": issue, "expires": expires}
        for id_, status, shows in failures
    ]
    import yaml  # noqa: PLC0415 - only here, and slow to import

    dumped: str = yaml.safe_dump({"known_failures": entries}, sort_keys=False, allow_unicode=True, width=110)
    return _HEAD + dumped
