"""The page: its parts in order, one style sheet inside, no script, nothing fetched."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from conformance.report.html.failures import failures
from conformance.report.html.head import answers, hero
from conformance.report.html.lifecycles import lifecycles
from conformance.report.html.markup import esc, items, section
from conformance.report.html.matrix import matrix
from conformance.report.html.requirements import requirements
from conformance.report.html.tables import tables
from conformance.report.model import Report
from conformance.report.words import HEADS, count, implementation, rerun, sampled

#: Nothing runs and nothing is fetched, whatever a name in the record contains.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@cache
def style() -> str:
    """The style sheet, which lies beside this module."""
    return Path(__file__).with_name("style.css").read_text(encoding="utf-8")


def as_html(report: Report) -> str:
    """The report as one HTML page, ending in a line break."""
    sections = [
        section(
            "failures",
            "Failures",
            "Each is the smallest schedule that still shows it, told step by step. Time runs downwards; what the suite"
            " did to the process stands in red.",
            failures(report),
        ),
        section(
            "matrix",
            "What was exercised under which fault",
            "A requirement passes only if each of its cells occurred. This is where they did.",
            matrix(report),
        ),
        section(
            "requirements",
            "Requirements and their evidence",
            "Open one to see its cells, how often each occurred, and in which schedule first.",
            requirements(report),
        ),
        section(
            "lifecycles",
            "Lifecycles, as far as the run went",
            "Solid lines were taken, with their counts; dashed ones were not.",
            lifecycles(report),
        ),
        section(
            "tables",
            "Tables of the specification",
            "How often the run exercised each row.",
            tables(report),
        ),
        section("run", "The run", "What was done, and with what.", _run(report)),
    ]
    title = f"onceproof: {implementation(report)}: {HEADS[report.verdict.verdict]}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{esc(title)}</title><style>{style()}</style></head>\n<body><main>"
        f"{hero(report)}\n{answers(report)}\n{_contents(report)}\n"
        + "\n".join(filter(None, sections))
        + "</main></body></html>\n"
    )


def _contents(report: Report) -> str:
    links = [("failures", f"Failures ({len(report.failures)})")] if report.failures else []
    links += [("matrix", "Faults")] if report.evidence.matrix else []
    links += [("requirements", "Requirements")] if report.standings else []
    links += [("lifecycles", "Lifecycles")] if report.lifecycles else []
    links += [("tables", "Tables")] if report.tables else []
    links += [("run", "The run")]
    return "<nav>" + "".join(f'<a href="#{anchor}">{esc(text)}</a>' for anchor, text in links) + "</nav>"


def _run(report: Report) -> str:
    header, tally, footer = report.header, report.tally, report.footer
    facts = [
        ("suite", header["suite"]),
        ("specification", header["spec"]),
        ("driver", header["driver"]),
        ("started", f"{header['started']}, {footer['seconds']} s"),
        ("budget and seed", f"{header['budget']}, {header['seed']}"),
        ("schedules", f"{count(tally.schedules, 'schedule')} over {count(report.points, 'fault point')}"),
        ("complete", "yes" if report.complete else "no"),
        ("filtered", "yes" if header["filtered"] else "no"),
        ("again", rerun(report)),
    ]
    rows = "".join(f"<dt>{esc(name)}</dt><dd>{esc(value)}</dd>" for name, value in facts)
    faults = "".join(
        f"<li><b>{number:,}</b> {esc(kind)}</li>" for kind, number in sorted(tally.faults.items(), key=lambda f: -f[1])
    )
    parts = [
        f'<dl class="facts">{rows}</dl>',
        f'<h3>What struck</h3><ul class="chips">{faults}</ul>' if faults else "",
        _listed("Graded sampled", sampled(report)),
        _listed("Faults that were missed", [f"{what} in {schedule}" for schedule, what in tally.first_missed]),
        _listed("Not run at this rung", [f"{scenario}: {why}" for scenario, why in report.out_of_tier]),
        _listed("What broke", [f"{schedule} ({blame}): {problem}" for schedule, blame, problem in tally.problems]),
    ]
    return "".join(parts)


def _listed(title: str, lines: list[str]) -> str:
    return f"<h3>{esc(title)}</h3>{items(lines)}" if lines else ""
