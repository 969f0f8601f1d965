"""Rules about requirements, their cells, profiles and interpretations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from statemachines.lint.registry import Context, Path, Problem, names, rule

RUNGS = ("L0", "L1", "L2")


@rule("requirement-unknown", "Lifecycles name requirements that exist.", local=False)
def unknown(context: Context) -> Iterator[Problem]:
    known = context.ids("requirement")
    for entry, lc in context.each("lifecycle"):
        for part, items in (("transitions", lc.transitions), ("never", lc.never)):
            for index, item in enumerate(items):
                for place, name in enumerate(item.requirements):
                    if name not in known:
                        path: Path = (part, index, "requirements", place)
                        yield entry, path, f"there is no requirement {name}", "correct the id"


@rule("requirement-prefix", "A requirement's id begins with the prefix that its file is called after.")
def prefix(context: Context) -> Iterator[Problem]:
    for entry, item in context.each("requirement"):
        stem = PurePosixPath(entry.file).stem
        if item.prefix != stem:
            yield entry, ("id",), f"{item.id} stands in {stem}.yaml", f"move it to {item.prefix}.yaml"


@rule("requirement-profile", "A requirement belongs to exactly one profile.", local=False)
def profile(context: Context) -> Iterator[Problem]:
    groups = Counter(group for _, item in context.each("profile") for group in item.groups)
    for entry, item in context.each("requirement"):
        count = groups[item.profile]
        if count != 1:
            place = "no profile" if count == 0 else f"{count} profiles"
            message = f"the group {item.profile} of {item.id} is in {place}"
            yield entry, ("profile",), message, "name it in exactly one file of spec/profiles"


@rule(
    "requirement-same-as",
    "`same_as` goes with the status same-as and leads to a requirement of its own.",
    local=False,
)
def same_as(context: Context) -> Iterator[Problem]:
    known = context.built["requirement"]
    for entry, item in context.each("requirement"):
        if (item.same_as is not None) != (item.status == "same-as"):
            yield (
                entry,
                ("status",),
                f"{item.id} is {item.status}",
                "give both same_as and status same-as, or none",
            )
        elif item.same_as is not None:
            target = known.get(item.same_as)
            path: Path = ("same_as",)
            if target is None:
                yield entry, path, f"there is no requirement {item.same_as}", "correct the id"
            elif target.status == "same-as":
                yield entry, path, f"{target.id} leads on to {target.same_as}", f"name {target.same_as}"
            elif target.status == "not-testable":
                yield entry, path, f"{target.id} is not testable itself", "name one that is tested"


@rule("requirement-status", "A live requirement has cells, the others none; not-testable gives a reason.")
def status(context: Context) -> Iterator[Problem]:
    for entry, item in context.each("requirement"):
        if item.status == "live" and not item.cells:
            yield entry, ("status",), f"{item.id} is live without a cell", "add cells or make it planned"
        elif item.status != "live" and item.cells:
            yield (
                entry,
                ("cells",),
                f"{item.id} is {item.status} and has cells",
                "make it live or remove them",
            )
        hidden = item.status == "not-testable" or item.observable == "not-testable"
        if hidden and (item.status != "not-testable" or item.observable != "not-testable" or not item.reason):
            message = f"{item.id} is not testable in one place only, or without a reason"
            yield entry, ("status",), message, "give status and observable not-testable, and a reason"


@rule("requirement-fault", "Faults are names of the table of faults.", local=False)
def fault(context: Context) -> Iterator[Problem]:
    table = context.built["table"].get("faults")
    known = {row.id for row in table.rows} if table else set()
    for entry, item in context.each("requirement"):
        places: list[tuple[Path, str]] = [(("faults", n), name) for n, name in enumerate(item.faults)]
        for index, cell in enumerate(item.cells):
            places += [(("cells", index, "needs", n), name) for n, name in enumerate(cell.needs)]
        for path, name in places:
            if name not in known:
                yield entry, path, f"there is no fault {name}", "use a name of spec/tables/faults.yaml"


@rule("cell-duplicate", "A cell's id is its own within the requirement.")
def cell_duplicate(context: Context) -> Iterator[Problem]:
    for entry, item in context.each("requirement"):
        seen: set[str] = set()
        for index, cell in enumerate(item.cells):
            if cell.id in seen:
                yield entry, ("cells", index, "id"), f"{cell.id} stands here again", "give it another id"
            seen.add(cell.id)


@rule("cell-rung", "A cell's rung offers the faults and the evidence that it needs.", local=False)
def cell_rung(context: Context) -> Iterator[Problem]:
    table = context.built["table"].get("faults")
    rungs = {row.id: row.then.get("rung") for row in table.rows} if table else {}
    # A row that names no rung, or a strange one, is a fault of the table and not of the cell.
    rungs = {name: value for name, value in rungs.items() if value in RUNGS}
    for entry, item in context.each("requirement"):
        for index, cell in enumerate(item.cells):
            wanted = [rungs.get(name, "L0") for name in cell.needs]
            wanted += ["L1"] if "rows" in cell.evidence else []
            high = max(wanted, default="L0")
            if RUNGS.index(cell.rung) < RUNGS.index(high):
                message = f"{cell.id} stands at {cell.rung} and needs {high}"
                yield entry, ("cells", index, "rung"), message, f"make it {high} or need less"


@rule("profile-group", "A group of a profile has requirements.", local=False)
def profile_group(context: Context) -> Iterator[Problem]:
    used = {item.profile for _, item in context.each("requirement")}
    for entry, item in context.each("profile"):
        for index, group in enumerate(item.groups):
            if group not in used:
                yield entry, ("groups", index), f"no requirement belongs to {group}", "remove or correct it"


@rule("interpretation-taken", "Exactly one reading of an ambiguity is taken.")
def taken(context: Context) -> Iterator[Problem]:
    for entry, item in context.each("interpretation"):
        chosen = [reading.id for reading in item.readings if reading.status == "taken"]
        if len(chosen) != 1:
            said = names(chosen) or "none"
            yield entry, ("readings",), f"taken is {said}", "take exactly one"


@rule("interpretation-duplicate", "A reading's id is its own within the ambiguity.")
def reading_duplicate(context: Context) -> Iterator[Problem]:
    for entry, item in context.each("interpretation"):
        count = Counter(reading.id for reading in item.readings)
        twice = [name for name, times in count.items() if times > 1]
        if twice:
            yield entry, ("readings",), f"{names(twice)} stands here more than once", "give it another id"
