"""Rules about interpretations and what their readings have to do with requirements."""

from __future__ import annotations

from collections.abc import Iterator

from statemachines.lint.registry import Context, Path, Problem, rule


@rule("interpretation-touches", "An interpretation touches requirements that exist.", local=False)
def touches(context: Context) -> Iterator[Problem]:
    known = context.ids("requirement")
    for entry, item in context.each("interpretation"):
        for index, name in enumerate(item.touches):
            if name not in known:
                yield entry, ("touches", index), f"there is no requirement {name}", "correct the id"


@rule("reading-shown", "A reading that passes and touches a live requirement has a variant, or a note why none.")
def shown(context: Context) -> Iterator[Problem]:
    for entry, item in context.each("interpretation"):
        for index, reading in enumerate(item.readings):
            passes = reading.status in ("accepted", "declarable")
            if item.touches and passes and reading.variant is None and not reading.note:
                path: Path = ("readings", index, "variant")
                message = f"the reading {reading.id} is {reading.status} and nothing shows it"
                yield entry, path, message, "name a variant, or say in a note why there is none"


@rule("reading-unreachable", "Unreachable cells exist, and their reading may be declared.", local=False)
def unreachable(context: Context) -> Iterator[Problem]:
    cells = {f"{item.id}/{cell.id}" for _, item in context.each("requirement") for cell in item.cells}
    for entry, item in context.each("interpretation"):
        for index, reading in enumerate(item.readings):
            for place, name in enumerate(reading.unreachable):
                if name not in cells:
                    message = f"no requirement has the cell {name}"
                    yield entry, ("readings", index, "unreachable", place), message, "correct it"
            if reading.unreachable and reading.status not in ("accepted", "declarable"):
                message = f"the reading {reading.id} is {reading.status}, so no driver declares it"
                yield entry, ("readings", index, "unreachable"), message, "remove the cells"
