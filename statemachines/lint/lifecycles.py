"""Rules about lifecycles: the shape of the graph, guards, prohibitions and couplings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import PurePosixPath
from typing import Any

from statemachines.layout import Entry
from statemachines.lint.registry import Context, Path, Problem, names, rule
from statemachines.model import Lifecycle

OWNERS = {"me", "nobody", "other"}


def _raw(context: Context) -> Iterator[tuple[Entry, Any, Lifecycle]]:
    for entry, lc in context.each("lifecycle"):
        yield entry, entry.data, lc


def _writes(raw: Any) -> Iterator[tuple[tuple[str, int], Any]]:
    """Transitions and writes in place, with where each stands."""
    for part in ("transitions", "in_place"):
        for index, item in enumerate(raw.get(part, ())):
            yield (part, index), item


def _values(test: Any) -> list[Any]:
    """The constants that a guard's test names."""
    if isinstance(test, dict):
        return [test["not"]]
    return test if isinstance(test, list) else [test]


@rule("file-name", "A file of one lifecycle, table or profile is called like its id.")
def file_name(context: Context) -> Iterator[Problem]:
    for kind in ("lifecycle", "table", "profile"):
        for entry, _ in context.each(kind):
            stem = PurePosixPath(entry.file).stem
            if stem != entry.id:
                yield entry, ("id",), f"the file is called {stem}", f"rename the file to {entry.id}.yaml"


@rule("lifecycle-initial", "A lifecycle has exactly one initial state, and a creation leads to it.")
def initial(context: Context) -> Iterator[Problem]:
    for entry, raw, lc in _raw(context):
        marked = [state["name"] for state in raw["states"] if state.get("initial")]
        if len(marked) != 1:
            yield entry, ("states",), f"{len(marked)} states are marked initial", "mark exactly one"
        elif (None, marked[0]) not in lc.edges:
            yield entry, ("transitions",), f"no creation leads to {marked[0]}", "add one with source: null"


@rule("lifecycle-duplicate-state", "A state is described once.")
def duplicate_state(context: Context) -> Iterator[Problem]:
    for entry, raw, _ in _raw(context):
        seen: set[str] = set()
        for index, state in enumerate(raw["states"]):
            if state["name"] in seen:
                yield entry, ("states", index), f"{state['name']} stands here again", "remove one of them"
            seen.add(state["name"])


@rule("lifecycle-unknown-state", "Transitions, prohibitions and couplings name states that exist.")
def unknown_state(context: Context) -> Iterator[Problem]:
    for entry, raw, lc in _raw(context):
        mentions: list[tuple[Path, str | None]] = []
        for index, item in enumerate(raw["transitions"]):
            mentions += [(("transitions", index, end), item[end]) for end in ("source", "dest")]
        for index, item in enumerate(raw.get("in_place", ())):
            mentions += [(("in_place", index, "states"), name) for name in _values(item["states"])]
        for index, item in enumerate(raw.get("never", ())):
            mentions += [(("never", index, end), name) for end in ("source", "dest") for name in _values(item[end])]
        mentions += [(("couplings", i, "state"), c["state"]) for i, c in enumerate(raw.get("couplings", ()))]
        for path, name in mentions:
            if name is not None and name not in lc.states:
                yield entry, path, f"{lc.id} has no state {name}", f"use one of {names(lc.states)}"


@rule("lifecycle-unreachable", "Every state can be reached from a creation.")
def unreachable(context: Context) -> Iterator[Problem]:
    for entry, raw, lc in _raw(context):
        reached: set[str] = set()
        while more := {d for s, d in lc.edges if (s is None or s in reached) and d not in reached}:
            reached |= more
        for index, state in enumerate(raw["states"]):
            if state["name"] not in reached:
                message = f"nothing leads to {state['name']}"
                yield entry, ("states", index), message, "add a transition or remove the state"


@rule("lifecycle-trap", "A state without an exit is marked terminal.")
def trap(context: Context) -> Iterator[Problem]:
    for entry, raw, lc in _raw(context):
        for index, state in enumerate(raw["states"]):
            leaves = any(source == state["name"] != dest for source, dest in lc.edges)
            if not leaves and not state.get("terminal"):
                yield entry, ("states", index), f"{state['name']} has no exit", "mark it terminal or add one"


@rule("lifecycle-terminal-exit", "No transition leaves a terminal state.")
def terminal_exit(context: Context) -> Iterator[Problem]:
    for entry, raw, lc in _raw(context):
        for index, item in enumerate(raw["transitions"]):
            if item["source"] in lc.terminal:
                message = f"{item['trigger']} leaves {item['source']}, which is terminal"
                yield entry, ("transitions", index, "source"), message, "remove it or the mark"


@rule("lifecycle-unknown-field", "Guards and settings name fields of the lifecycle.")
def unknown_field(context: Context) -> Iterator[Problem]:
    for entry, raw, lc in _raw(context):
        for place, item in _writes(raw):
            for part in ("when", "set"):
                for name in item.get(part, {}):
                    if name not in lc.fields:
                        message = f"{lc.id} has no field {name}"
                        yield entry, (*place, part, name), message, "describe it under fields"


@rule("lifecycle-domain", "Guards and settings use values of the field's domain.")
def domain(context: Context) -> Iterator[Problem]:
    for entry, raw, lc in _raw(context):
        for place, item in _writes(raw):
            for part in ("when", "set"):
                for name, test in item.get(part, {}).items():
                    known = lc.fields[name].domain if name in lc.fields else ()
                    for value in _values(test) if known else ():
                        if value not in known:
                            message = f"{name} is never {names([value])}"
                            yield entry, (*place, part, name), message, f"use {names(known)}"


@rule("lifecycle-dead-guard", "A guard leaves at least one value.")
def dead_guard(context: Context) -> Iterator[Problem]:
    for entry, _, lc in _raw(context):
        for index, transition in enumerate(lc.transitions):
            for name, allowed in transition.when.items():
                if not allowed and name in lc.fields:
                    message = f"{transition.trigger} can never fire: no value of {name} is left"
                    yield entry, ("transitions", index, "when", name), message, "widen the domain"


@rule("lifecycle-field-unwritten", "A field that a guard reads is set by a transition, or marked a predicate.")
def field_unwritten(context: Context) -> Iterator[Problem]:
    for entry, _, lc in _raw(context):
        written = {name for transition in lc.transitions for name in transition.set}
        written |= {name for write in lc.in_place for name in write.set}
        for index, transition in enumerate(lc.transitions):
            for name in transition.when:
                if name in lc.fields and name not in written and not lc.fields[name].predicate:
                    message = f"{transition.trigger} looks at {name}, which nobody sets"
                    path = ("transitions", index, "when", name)
                    yield entry, path, message, "set it in a transition or mark it predicate: true"


@rule("lifecycle-owner", "The field `owner` has the values me, nobody and other only.")
def owner(context: Context) -> Iterator[Problem]:
    for entry, _, lc in _raw(context):
        field = lc.fields.get("owner")
        strange = [value for value in field.domain if value not in OWNERS] if field else []
        if strange:
            yield (
                entry,
                ("fields", "owner", "domain"),
                f"owner cannot be {names(strange)}",
                "use me, nobody, other",
            )


@rule("lifecycle-ceiling", "A counter's domain runs from 0 to its ceiling.")
def ceiling(context: Context) -> Iterator[Problem]:
    for entry, _, lc in _raw(context):
        for field in lc.fields.values():
            if field.ceiling is not None and list(field.domain) != list(range(field.ceiling + 1)):
                message = f"the domain of {field.name} is not 0 to {field.ceiling}"
                yield entry, ("fields", field.name, "ceiling"), message, "list every value"


@rule("lifecycle-overlap", "Two rows of one trigger from one state never apply together.")
def overlap(context: Context) -> Iterator[Problem]:
    for entry, _, lc in _raw(context):
        for (_, one), (index, two) in combinations(enumerate(lc.transitions), 2):
            if (one.trigger, one.source) != (two.trigger, two.source):
                continue
            shared = one.when.keys() & two.when.keys()
            if all(set(one.when[name]) & set(two.when[name]) for name in shared):
                message = f"{two.trigger} from {names([two.source])} leads to {one.dest} and to {two.dest} at once"
                yield entry, ("transitions", index), message, "make the guards exclude each other"


@rule("lifecycle-never-edge", "A move that is named as forbidden is not a transition.")
def never_edge(context: Context) -> Iterator[Problem]:
    for entry, _, lc in _raw(context):
        for index, never in enumerate(lc.never):
            for transition in lc.transitions:
                same = (transition.source, transition.dest) in never.pairs
                if same and (never.actor is None or set(never.actor) & set(transition.actor)):
                    message = f"{transition.trigger} takes this very move"
                    yield entry, ("never", index), message, "remove one of the two"


@rule("coupling-unknown", "A coupling names another lifecycle and its states.", local=False)
def coupling_unknown(context: Context) -> Iterator[Problem]:
    for entry, raw, _ in _raw(context):
        for index, item in enumerate(raw.get("couplings", ())):
            other = context.built["lifecycle"].get(item["with"])
            if other is None:
                message = f"there is no lifecycle {item['with']}"
                yield entry, ("couplings", index, "with"), message, "correct the name"
                continue
            for place, name in enumerate(item["states"]):
                if name not in other.states:
                    path = ("couplings", index, "states", place)
                    yield entry, path, f"{other.id} has no state {name}", f"use one of {names(other.states)}"


@rule("coupling-hole", "A lifecycle that is coupled says for each state what stands beside it.", local=False)
def coupling_hole(context: Context) -> Iterator[Problem]:
    for entry, raw, lc in _raw(context):
        others = dict.fromkeys(item["with"] for item in raw.get("couplings", ()))
        # A misspelt name is coupling-unknown's business and would leave a hole here as well.
        for other in others if others.keys() <= context.ids("lifecycle") else ():
            said = {item["state"] for item in raw["couplings"] if item["with"] == other}
            missing = [name for name in lc.states if name not in said]
            if missing:
                message = f"nothing is said about {names(missing)} beside {other}"
                yield entry, ("couplings",), message, "add a coupling for each"
