"""The page of faults that really happened: spec/field.yaml beside the requirements and the deviations."""

from __future__ import annotations

from collections.abc import Sequence

from reference_impl.deviations import DEVIATIONS
from statemachines.field import Fault, field_faults
from statemachines.markdown import table
from statemachines.spec import load

_PARTS = (
    ("Review of a real host", ("A",), "Faults that reviewers found in a real mutation host and in its contracts."),
    ("Public reports", ("BR",), "Faults that public bug reports and incident write-ups tell of."),
    (
        "Probes of real libraries",
        ("P", "D"),
        "Faults that libraries for keys, queues and durable workflows showed when a remote counted what they sent.",
    ),
)
_HEAD = """# Faults that really happened, and what finds them

<!-- Made by `python tools/write_docs.py` from spec/field.yaml; edit the sources, not this page. -->

Every fault here was made by somebody, in earnest. {found} of {all} are realised by a *deviation*: the same fault,
planted in the reference, which the suite has to find and to name. `onceproof mutants --only ID` shows it, and
[kill-matrix.md](kill-matrix.md) says on which schedules. The other {rest} stand here with the reason why nothing is
planted: no black box shows them, or the requirement that speaks of them is not judged yet. `onceproof explain ID` says
what a requirement demands.

| where it was seen | faults | planted and found | explained |
| --- | --- | --- | --- |
{counts}"""


def field_page() -> str:
    """The whole page."""
    faults = field_faults()
    parts = [(title, about, [f for f in faults if _letters(f) in letters]) for title, letters, about in _PARTS]
    counts = "".join(
        f"| {title} | {len(own)} | {len(_planted(own))} | {len(own) - len(_planted(own))} |\n"
        for title, _, own in parts
    )
    found = len(_planted(faults))
    head = _HEAD.format(found=found, all=len(faults), rest=len(faults) - found, counts=counts)
    return "\n".join([head, *(_part(title, about, own) for title, about, own in parts)])


def _letters(fault: Fault) -> str:
    return "".join(c for c in fault.id if c.isupper())


def _planted(faults: Sequence[Fault]) -> list[Fault]:
    return [fault for fault in faults if fault.deviation is not None]


def _part(title: str, about: str, faults: Sequence[Fault]) -> str:
    plantings = {p.id: p for p in DEVIATIONS}
    status = {r.id: r.status for r in load().requirements.values()}
    found = [
        (f.id, f.about, f.seen or "", f"`{f.deviation}`", plantings[f.deviation].names, ", ".join(f.requirements))
        for f in faults
        if f.deviation is not None
    ]
    rest = [
        (f.id, f.about, f.seen or "", str(f.reason), ", ".join(f"{r} ({status[r]})" for r in f.requirements))
        for f in faults
        if f.deviation is None
    ]
    text = f"## {title}\n\n{about}\n\n### Planted and found\n\n"
    text += table(("fault", "what went wrong", "seen in", "deviation", "named by", "requirements"), found)
    if rest:
        text += "\n### Explained\n\n"
        text += table(("fault", "what went wrong", "seen in", "why nothing is planted", "requirements"), rest)
    return text
