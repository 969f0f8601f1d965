"""What every report shows, computed once from a run record: standings, verdict, counts, failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.baseline import Entry, excuse
from conformance.records import RunRecord
from conformance.report.evidence import Evidence
from conformance.report.views import LifecycleView, TableView, lifecycle_views, table_views
from conformance.search.plan import BUDGETS
from conformance.trace import Trace
from conformance.verdict import JudgedRequirement, Standing, Tally, Verdict, conclude, standings


@dataclass(frozen=True, slots=True)
class FailureView:
    """One failure of the run: its trace, how stable it is, in how many schedules, and where the trace lies."""

    requirement: str
    stability: str
    schedules: int
    file: str
    trace: Trace


@dataclass(frozen=True, slots=True)
class Report:
    """A run, concluded."""

    header: Mapping[str, Any]
    footer: Mapping[str, Any]
    tally: Tally
    standings: tuple[Standing, ...]
    verdict: Verdict
    failures: tuple[FailureView, ...]
    out_of_tier: tuple[tuple[str, str], ...]
    points: int
    compared: int
    #: What is wrong with the baseline, a sentence each.
    untrue: tuple[str, ...]
    evidence: Evidence
    lifecycles: tuple[LifecycleView, ...]
    tables: tuple[TableView, ...]
    #: requirement -> why it is excused, for known failures and declared gaps.
    excuses: Mapping[str, str]
    walks: tuple[Mapping[str, Any], ...]

    @property
    def exit(self) -> int:
        """The exit code of the command that made the run."""
        return 130 if self.footer["interrupted"] else self.verdict.exit

    @property
    def complete(self) -> bool:
        """Whether every schedule of the budget ran."""
        return bool(self.footer["complete"])

    @property
    def known(self) -> dict[str, str]:
        """What every failing requirement showed: what a baseline may be pinned to."""
        return _happened(self.failures)

    @property
    def judged(self) -> int:
        """How many requirements got a judgement that the rung allows."""
        return sum(s.status not in ("out-of-tier", "not-applicable") for s in self.standings)


def build(record: RunRecord) -> Report:
    """Conclude a run record."""
    tally = Tally()
    for schedule in record.schedules:
        tally.add(schedule)
    failures = tuple(
        FailureView(f["requirement"], f["stability"], f["schedules"], f["file"], Trace.from_json(f["trace"]))
        for f in record.failures
    )
    header = record.header
    requirements = [JudgedRequirement.from_json(r) for r in header["requirements"]]
    stability = _stability(failures)
    rung = header["identity"]["rung"]
    found, untrue = excuse(
        standings(requirements, tally, rung, header["unreachable"], stability),
        [Entry.from_json(entry) for entry in header["baseline"]],
        _happened(failures),
        header["started"],
        bool(header["filtered"]),
    )
    covers = len(BUDGETS.get(header["budget"], ())) > 1
    if record.footer.get("problem") is not None:
        tally.problems.append(("the rest of the run", record.footer["blame"], record.footer["problem"]))
    for differential in record.differentials:
        for schedule, one, other in differential["different"]:
            tally.problems.append((schedule, "suite", f"the carriers disagree: {one} against {other}"))
    verdict = conclude(found, tally, bool(record.footer["complete"]), covers, untrue, bool(header["scenarios"]))
    skipped = tuple((s[0], s[1]) for plan in record.plans for s in plan["out_of_tier"])
    compared = sum(d["sample"] for d in record.differentials)
    points = sum(plan["points"] for plan in record.plans)
    return Report(
        header,
        record.footer,
        tally,
        tuple(found),
        verdict,
        failures,
        skipped,
        points,
        compared,
        tuple(untrue),
        Evidence.of(record.schedules),
        lifecycle_views(header, tally),
        table_views(header, record.plans, tally),
        _excuses(header["baseline"], found),
        record.walks,
    )


def _excuses(baseline: Iterable[Mapping[str, Any]], found: Iterable[Standing]) -> dict[str, str]:
    """Why each excused requirement is; an entry that is not true excuses nothing."""
    excused = {s.requirement.id for s in found if s.status in ("known-failure", "declared-gap")}
    return {
        entry[
            "id"
        ]: f"{entry['reason']} ({entry['issue']}{', until ' + entry['expires'] if 'expires' in entry else ''})"
        for entry in baseline
        if entry["id"] in excused
    }


def _happened(failures: tuple[FailureView, ...]) -> dict[str, str]:
    """What the first failure of a requirement showed."""
    return {f.requirement: f.trace.violation.happened for f in reversed(failures)}


def _stability(failures: tuple[FailureView, ...]) -> dict[str, str]:
    """A requirement is unstable only if none of its failures is steady."""
    found: dict[str, str] = {}
    for failure in failures:
        if found.get(failure.requirement) != "fail":
            found[failure.requirement] = failure.stability
    return found
