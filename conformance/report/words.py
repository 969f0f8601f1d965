"""The four questions that a reader of a report has, answered in sentences: what is claimed, what was proved, what was
not, how to see a failure. Plain text; each renderer makes it harmless in its own way.
"""

from __future__ import annotations

import re
from typing import Final

from conformance.moves import SAMPLED
from conformance.outcome import NO_ANSWER
from conformance.report.model import Report

#: rung -> what a driver of this rung lets the suite do and see.
RUNGS: Final = {
    "L0": "wire and answers, with wire faults and kills at the remote",
    "L1": "durable rows and virtual time as well",
    "L2": "pauses, store faults and lost acknowledgements at every point as well",
}
#: verdict -> how it is headed.
HEADS: Final = {
    "conformant": "Conformant on what was judged",
    "partial": "Partly conformant",
    "not conformant": "Not conformant",
    "inconclusive": "Inconclusive",
    "none": "No verdict",
}
#: status -> what it means to somebody who sees it for the first time.
STATUS_WORDS: Final = {
    "error": "could not be judged, because something broke",
    "fail": "violated, and the violation repeats",
    "unstable": "a violation was seen that did not repeat",
    "untestable": "a cell never occurred, since the driver does not do all that it declares",
    "uncovered": "no violation, but a cell that it speaks of never occurred",
    "declared-gap": "declared as not implemented, with a reason",
    "known-failure": "fails as a known failure, with a reason and an expiry",
    "out-of-tier": "cannot be shown at this driver's rung",
    "not-applicable": "ruled out by a reading that the driver declares",
    "pass": "every cell occurred and nothing was violated",
}


def count(number: int, one: str, many: str = "") -> str:
    """``1 cell``, ``2 cells``, ``1,225 cells``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def implementation(report: Report) -> str:
    """Who was tested."""
    identity = report.header["identity"]
    language = f" ({identity['language']})" if identity["language"] else ""
    return f"{identity['name']} {identity['version']}{language}"


def claimed(report: Report) -> list[str]:
    """What the implementation says that it is."""
    header = report.header
    identity = header["identity"]
    readings = [f"it declares the reading {about}: {reading}" for about, reading in identity["readings"].items()]
    return [
        f"{implementation(report)} claims {_and(identity['families'])}",
        f"at rung {identity['rung']}: {RUNGS[identity['rung']]}",
        *readings,
        *([f"it offers {_and(identity['features'])}"] if identity["features"] else []),
    ]


def proved(report: Report) -> list[str]:
    """What the run showed."""
    passed = sum(s.status == "pass" for s in report.standings)
    cells = [(sum(1 for c in s.judged if s.met[c]), len(s.judged)) for s in report.standings]
    lines = [
        f"{passed} of {count(report.judged, 'judged requirement')} pass",
        f"{sum(met for met, _ in cells):,} of {count(sum(all_ for _, all_ in cells), 'cell')} occurred,"
        f" {sum(s.exercised for s in report.standings):,} times in all",
        f"in {count(report.tally.schedules, 'schedule')} over {count(report.points, 'fault point')},"
        f" with {count(struck(report), 'fault')} that struck",
    ]
    edges = sum(len(lc.edges) for lc in report.lifecycles)
    if edges and report.tally.transitions:
        taken = sum(lc.taken for lc in report.lifecycles)
        lines.append(f"{taken} of {count(edges, 'transition')} of {count(len(report.lifecycles), 'lifecycle')} taken")
    if report.compared:
        lines.append(f"{count(report.compared, 'schedule')} ran in both carriers, to compare the evidence")
    return lines


def struck(report: Report) -> int:
    """How many faults struck, plain answers and the setting of the time left out."""
    plain = ("time", "restart", "remote success", "remote definite-refusal")
    return sum(n for kind, n in report.tally.faults.items() if kind not in plain)


def unproved(report: Report) -> list[str]:
    """What the run says nothing about, the most serious first."""
    header, tally = report.header, report.tally
    lines = []
    if report.footer["interrupted"]:
        lines.append("the run was interrupted: this report is partial")
    elif not report.complete:
        lines.append("the run ended before every schedule ran")
    if header["filtered"]:
        lines.append("the run was filtered, so it claims nothing")
    lines += [f"the baseline is not true: {complaint}" for complaint in report.untrue]
    if header["baseline"]:
        lines.append("the run had a baseline, so it claims nothing")
    unknown = [family for family in header["identity"]["families"] if family not in header["families"]]
    if unknown and not header["filtered"]:
        lines.append(f"the driver offers {_and(unknown)}, which this suite does not judge")
    by_status = {status: [s for s in report.standings if s.status == status] for status in STATUS_WORDS}
    for status in ("fail", "unstable", "untestable", "uncovered", "declared-gap", "known-failure"):
        if by_status[status]:
            lines.append(_of_status(status, len(by_status[status])))
    if tally.missed:
        lines.append(f"{count(tally.missed, 'scheduled fault')} did not fire")
    if tally.gaps:
        lines.append(f"the driver declares its rung and families, but does not do: {_and(sorted(tally.gaps))}")
    if silent := tally.faults.get(NO_ANSWER, 0):
        lines.append(f"{count(silent, 'command')} had no answer in time")
    lines += sampled(report)
    for status in ("out-of-tier", "not-applicable"):
        if by_status[status]:
            lines.append(_of_status(status, len(by_status[status])))
    if report.out_of_tier:
        lines.append(f"{count(len(report.out_of_tier), 'scenario')} could not run at this rung")
    lines.append(f"{header['planned']:,} of {header['obligations']:,} obligations are planned: no run judges them yet")
    return lines


def _of_status(status: str, number: int) -> str:
    return f"{count(number, 'requirement')} ({status}): {STATUS_WORDS[status]}"


def sampled(report: Report) -> list[str]:
    """The weaker grade of a driver whose rows are only looked at now and then; empty for others."""
    weak = report.tally.looks.get(SAMPLED, 0)
    if not weak:
        return []
    return [
        f"graded sampled in {count(weak, 'schedule')}: without a status_log, a change of state between two looks can go"
        " unseen"
    ]


def rerun(report: Report, *words: str) -> str:
    """The command that does this run again."""
    header = report.header
    parts = ["onceproof run", f"--driver {quoted(header['driver'])}"]
    if not words:
        left_out = header["filtered"] and set(header["families"]) < set(header["identity"]["families"])
        parts += [f"--profile {quoted(name)}" for name in (header["families"] if left_out else ())]
        parts += [f"--only {quoted(name)}" for name in header["only"]]
        parts += [f"--scenario {quoted(name)}" for name in header["scenarios"]]
    parts += [f"--budget {header['budget']}", *([f"--seed {header['seed']}"] if header["seed"] else [])]
    return " ".join([*parts, *words])


def quoted(word: str) -> str:
    """A word as a shell takes it."""
    return word if re.fullmatch(r"[\w./:+-]+", word) else "'" + word.replace("'", "'\\''") + "'"


def _and(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words) or "nothing"
