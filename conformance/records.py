"""``run.jsonl``: the only source of every report. A header, one record per schedule, failures whole, a footer."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from statemachines import strict_json
from statemachines.files import opened

FORMAT: Final = 1
Record = Mapping[str, Any]
#: record -> the members without which nothing can be concluded from it.
MEMBERS: Final[dict[str, frozenset[str]]] = {
    "header": frozenset(
        {"suite", "spec", "started", "driver", "identity", "budget", "seed", "filtered", "obligations", "planned"}
        | {"unreachable", "requirements", "baseline", "only", "scenarios"}
    ),
    "plan": frozenset({"family", "points", "out_of_tier", "tables"}),
    "schedule": frozenset({"id", "met", "faults", "missed", "named", "problem", "blame", "gaps", "tables"}),
    "differential": frozenset({"family", "sample", "different"}),
    "walk": frozenset({"family", "walks", "situations", "states", "moves", "chosen"}),
    "failure": frozenset({"requirement", "stability", "schedules", "file", "trace"}),
    "footer": frozenset({"records", "complete", "interrupted", "seconds"}),
}


class RecordError(Exception):
    """The file is no complete run record; the message says where and what to do."""


class RecordWriter:
    """Appends records; what was written stays readable if the run is interrupted."""

    def __init__(self, path: Path) -> None:
        self._file: IO[str] = path.open("w", encoding="utf-8")

    def write(self, record: str, **members: Any) -> None:
        """Write one record of this kind."""
        self._file.write(json.dumps({"record": record, **members}, sort_keys=False, separators=(",", ":")) + "\n")

    def close(self) -> None:
        """Flush and close."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class Schedules:
    """The schedules of a run, read from its file each time: there may be more of them than memory holds."""

    path: Path
    count: int

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in _lines(self.path) if record["record"] == "schedule")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A whole run as it was written."""

    header: Record
    plans: tuple[Record, ...]
    schedules: Schedules
    failures: tuple[Record, ...]
    differentials: tuple[Record, ...]
    footer: Record
    walks: tuple[Record, ...] = ()


def read_run(path: Path) -> RunRecord:
    """Read a run record; raises RecordError for one that is missing, damaged, of another format, or truncated."""
    kinds: dict[str, list[Record]] = {kind: [] for kind in MEMBERS}
    schedules = 0
    for number, record in _lines(path):
        kind = record.get("record")
        if not isinstance(kind, str) or kind not in kinds:
            raise RecordError(f"{path}:{number}: unknown record {kind!r}; was it written by a newer onceproof?")
        if kinds["footer"]:
            raise RecordError(f"{path}:{number}: a record follows the footer; two runs were written into one file")
        if record.get("format", FORMAT) == FORMAT and (missing := MEMBERS[kind] - record.keys()):
            raise RecordError(f"{path}:{number}: the {kind} lacks {', '.join(sorted(missing))}; the file was edited")
        if kind == "schedule":
            schedules += 1
        else:
            kinds[kind].append(record)
    if len(kinds["header"]) != 1:
        raise RecordError(f"{path}: it has {len(kinds['header'])} headers instead of one; give a run.jsonl")
    if kinds["header"][0].get("format") != FORMAT:
        found = kinds["header"][0].get("format")
        raise RecordError(f"{path}: format {found!r} is not {FORMAT}; use the onceproof that wrote it")
    if not kinds["footer"]:
        raise RecordError(f"{path}: it has no footer, so the run did not end; run again, nothing can be concluded")
    footer = kinds["footer"][0]
    if footer.get("records") != schedules:
        raise RecordError(f"{path}: the footer counts {footer.get('records')} schedules, {schedules} are here")
    return RunRecord(
        kinds["header"][0],
        tuple(kinds["plan"]),
        Schedules(path, schedules),
        tuple(kinds["failure"]),
        tuple(kinds["differential"]),
        footer,
        tuple(kinds["walk"]),
    )


def _opened(path: Path) -> IO[str]:
    """A record as it was written, or compressed as it is published."""
    file = opened(path)
    if path.suffix != ".gz":
        return io.TextIOWrapper(file, encoding="utf-8")
    # Opened once to see that it is a file: the decompressor does not close what it is handed.
    file.close()
    return gzip.open(path, "rt", encoding="utf-8")


def _lines(path: Path) -> Iterator[tuple[int, Record]]:
    try:
        with _opened(path) as file:
            for number, line in enumerate(file, 1):
                try:
                    record = strict_json.loads(line, unique=False)
                except strict_json.NotJson as problem:
                    raise RecordError(
                        f"{path}:{number}: not JSON: {line[:60]!r} ({problem}); the file was cut or edited"
                    ) from None
                if not isinstance(record, dict):
                    raise RecordError(f"{path}:{number}: a record must be an object, not {type(record).__name__}")
                yield number, record
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise RecordError(f"{path}: it is no whole gzip file; give the record that was published") from None
    except OSError as problem:
        raise RecordError(f"{path}: {problem.strerror}; give the run.jsonl of a run") from None
    except UnicodeDecodeError:
        raise RecordError(f"{path}: it is not UTF-8 text; give the run.jsonl of a run") from None
