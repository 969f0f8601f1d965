"""Two runs compared by requirement id: what got better, what got worse, what is new, what is gone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from conformance.report.model import Report
from conformance.verdict import STATUSES, Standing
from statemachines.plain import plain

#: What may be said of a requirement, in the order in which it is shown.
CHANGES: Final = ("worse", "better", "new", "gone", "same")
#: Verdicts, the worst first.
_VERDICTS: Final = ("none", "not conformant", "inconclusive", "partial", "conformant")


@dataclass(frozen=True, slots=True)
class Change:
    """One requirement in both runs. A status is None where the run did not judge it.

    ``lost`` and ``gained`` are cells that occurred in one run only; how often a cell occurred is no difference.
    """

    id: str
    change: str
    before: str | None
    after: str | None
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """All requirements of two runs, both verdicts, and what makes the two hard to compare."""

    changes: tuple[Change, ...]
    before: str
    after: str
    notes: tuple[str, ...]

    @property
    def worse(self) -> bool:
        """Whether a requirement or the verdict got worse."""
        fell = _VERDICTS.index(self.after) < _VERDICTS.index(self.before)
        return fell or any(c.change == "worse" for c in self.changes)

    @property
    def counts(self) -> dict[str, int]:
        """How many requirements there are of each kind of change."""
        found = Counter(c.change for c in self.changes)
        return {name: found[name] for name in CHANGES}


def compare(before: Report, after: Report) -> Comparison:
    """Compare a run with an earlier one."""
    old = {s.requirement.id: s for s in before.standings}
    new = {s.requirement.id: s for s in after.standings}
    changes = [_change(id_, old.get(id_), new.get(id_)) for id_ in sorted({*old, *new})]
    changes.sort(key=lambda c: CHANGES.index(c.change))
    return Comparison(tuple(changes), before.verdict.verdict, after.verdict.verdict, tuple(_notes(before, after)))


def _change(id_: str, old: Standing | None, new: Standing | None) -> Change:
    if old is None or new is None:
        return Change(id_, "new" if old is None else "gone", _status(old), _status(new))
    had, has = _met(old), _met(new)
    lost = tuple(cell for cell in old.met if cell in had - has)
    gained = tuple(cell for cell in new.met if cell in has - had)
    rank = STATUSES.index(new.status) - STATUSES.index(old.status)
    worse = rank < 0 or (bool(lost) and not rank)
    change = "worse" if worse else "better" if rank or gained else "same"
    return Change(id_, change, old.status, new.status, lost, gained)


def _status(standing: Standing | None) -> str | None:
    return standing.status if standing else None


def _met(standing: Standing) -> set[str]:
    return {cell for cell, times in standing.met.items() if times}


def _notes(before: Report, after: Report) -> list[str]:
    notes = []
    for name, what in (("spec", "specification"), ("budget", "budget"), ("seed", "seed")):
        one, two = str(before.header[name])[:12], str(after.header[name])[:12]
        if one != two:
            notes.append(f"the runs differ in their {what}: {one} before, {two} after")
    for which, report in (("earlier", before), ("later", after)):
        if not report.complete:
            notes.append(f"the {which} run did not end")
        if report.header["filtered"]:
            notes.append(f"the {which} run was filtered")
    return notes


def as_text(found: Comparison) -> str:
    """The comparison for a terminal, ending in a line break; what is the same is only counted."""
    lines = []
    for c in found.changes:
        if c.change == "same":
            continue
        moved = f"{c.before or '—'} → {c.after or '—'}" if c.before != c.after else str(c.after)
        cells = [f"lost {', '.join(c.lost)}"] * bool(c.lost) + [f"gained {', '.join(c.gained)}"] * bool(c.gained)
        lines.append(plain(f"{c.change:<7} {c.id:<11} {moved:<28} {'; '.join(cells)}".rstrip()))
    lines += [f"note: {plain(note)}" for note in found.notes]
    counts = ", ".join(f"{number} {name}" for name, number in found.counts.items())
    verdict = found.after if found.before == found.after else f"{found.before} → {found.after}"
    return "\n".join([*lines, f"{counts}; verdict: {verdict}"]) + "\n"


def as_document(found: Comparison) -> dict[str, Any]:
    """The comparison as a JSON object."""
    return {
        "format": 1,
        "worse": found.worse,
        "verdict": {"before": found.before, "after": found.after},
        "counts": found.counts,
        "notes": list(found.notes),
        "requirements": [
            {
                "id": c.id,
                "change": c.change,
                "before": c.before,
                "after": c.after,
                "lost": list(c.lost),
                "gained": list(c.gained),
            }
            for c in found.changes
        ],
    }
