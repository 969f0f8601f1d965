"""``report.json``: the report for programs. Its members are promised (README, "What a program reads")."""

from __future__ import annotations

import json
from typing import Any

from conformance.report.model import Report


def as_json(report: Report) -> str:
    """The report as JSON text, ending in a line break."""
    return json.dumps(document(report), indent=1, ensure_ascii=False) + "\n"


def document(report: Report) -> dict[str, Any]:
    """The report as a JSON object."""
    header = report.header
    return {
        "format": 1,
        "suite": header["suite"],
        "spec": header["spec"],
        "driver": header["driver"],
        "identity": header["identity"],
        "started": header["started"],
        "budget": header["budget"],
        "seed": header["seed"],
        "verdict": report.verdict.verdict,
        "exit": report.exit,
        "why": report.verdict.why,
        "complete": report.complete,
        "filtered": bool(header["filtered"]),
        "baseline": {"entries": header["baseline"], "untrue": list(report.untrue)},
        "obligations": header["obligations"],
        "planned": header["planned"],
        "rung": header["identity"]["rung"],
        "judged": report.judged,
        "schedules": report.tally.schedules,
        "points": report.points,
        "compared_in_both_carriers": report.compared,
        "missed": report.tally.missed,
        "gaps": sorted(report.tally.gaps),
        "faults": dict(sorted(report.tally.faults.items())),
        "seconds": report.footer["seconds"],
        "out_of_tier": [{"scenario": s, "why": w} for s, w in report.out_of_tier],
        "requirements": [
            {
                "id": s.requirement.id,
                "profile": s.requirement.profile,
                "level": s.requirement.level,
                "status": s.status,
                "cells_met": sum(1 for cell in s.judged if s.met[cell]),
                "cells": len(s.judged),
                "exercised": s.exercised,
                "schedules": s.schedules,
                "cell_counts": dict(s.met),
                "unmet": list(s.unmet),
                "out_of_tier": list(s.out_of_tier),
                "not_applicable": list(s.not_applicable),
            }
            for s in report.standings
        ],
        "failures": [
            {
                "requirement": f.requirement,
                "stability": f.stability,
                "schedules": f.schedules,
                "allowed": f.trace.violation.allowed,
                "happened": f.trace.violation.happened,
                "seen": {"failed": f.trace.failed, "runs": f.trace.runs},
                "trace": f.file,
            }
            for f in report.failures
        ],
    }
