"""Plain, valid data to the dataclasses of `model`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from statemachines import commands, model
from statemachines.layout import Entry
from statemachines.table import Row, Table, Value

Raw = Mapping[str, Any]


def _many(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _index(items: Iterable[Any], key: str = "name") -> Mapping[str, Any]:
    return MappingProxyType({getattr(item, key): item for item in items})


def lifecycle(raw: Raw, source: str) -> model.Lifecycle:
    """One lifecycle; guards become the set of values that each field may have."""
    states = _index(model.State(**state) for state in raw["states"])
    fields = {
        name: model.Field(
            name,
            tuple(spec["domain"]),
            frozenset(spec["marks"]),
            spec["meaning"],
            spec.get("predicate", False),
            spec.get("ceiling"),
        )
        for name, spec in raw.get("fields", {}).items()
    }
    transitions = tuple(_transition(item, fields) for item in raw["transitions"])
    never = tuple(
        model.Never(
            _many(item["source"]),
            _many(item["dest"]),
            _many(item["actor"]) if "actor" in item else None,
            item["reason"],
            tuple(item["requirements"]),
        )
        for item in raw.get("never", ())
    )
    couplings = tuple(
        model.Coupling(item["state"], item["with"], tuple(item["states"]), item["how"], item.get("note", ""))
        for item in raw.get("couplings", ())
    )
    return model.Lifecycle(
        id=raw["id"],
        title=raw["title"],
        source=source,
        entity=raw["entity"],
        key=tuple(raw["key"]),
        states=states,
        fields=MappingProxyType(fields),
        transitions=transitions,
        never=never,
        couplings=couplings,
        in_place=tuple(_in_place(item, fields) for item in raw.get("in_place", ())),
        initial=next((state.name for state in states.values() if state.initial), ""),
        terminal=frozenset(state.name for state in states.values() if state.terminal),
        edges=frozenset((t.source, t.dest) for t in transitions),
        # A named prohibition for one actor only says nothing about the edge as such.
        forbidden=frozenset(pair for entry in never if entry.actor is None for pair in entry.pairs),
    )


def _in_place(raw: Raw, fields: Mapping[str, model.Field]) -> model.InPlace:
    return model.InPlace(
        trigger=raw["trigger"],
        states=_many(raw["states"]),
        actor=_many(raw["actor"]),
        when=MappingProxyType({name: _allowed(test, fields.get(name)) for name, test in raw.get("when", {}).items()}),
        set=MappingProxyType(dict(raw.get("set", {}))),
        requirements=tuple(raw["requirements"]),
        note=raw.get("note", ""),
    )


def _transition(raw: Raw, fields: Mapping[str, model.Field]) -> model.Transition:
    return model.Transition(
        trigger=raw["trigger"],
        source=raw["source"],
        dest=raw["dest"],
        actor=_many(raw["actor"]),
        when=MappingProxyType({name: _allowed(test, fields.get(name)) for name, test in raw.get("when", {}).items()}),
        set=MappingProxyType(dict(raw.get("set", {}))),
        requirements=tuple(raw["requirements"]),
        note=raw.get("note", ""),
    )


def _allowed(test: Any, field: model.Field | None) -> tuple[Value, ...]:
    if isinstance(test, Mapping):
        return tuple(value for value in (field.domain if field else ()) if value != test["not"])
    return _many(test)


def mirrored(lifecycles: Mapping[str, model.Lifecycle]) -> dict[str, model.Lifecycle]:
    """The same lifecycles, each coupling readable from both sides."""
    extra: dict[str, list[model.Coupling]] = {}
    for lc in lifecycles.values():
        grouped: dict[tuple[str, str, str], list[str]] = {}
        for coupling in lc.couplings:
            for state in coupling.states:
                grouped.setdefault((coupling.other, state, coupling.how), []).append(coupling.state)
        for (other, state, how), mine in grouped.items():
            extra.setdefault(other, []).append(model.Coupling(state, lc.id, tuple(dict.fromkeys(mine)), how))
    return {name: replace(lc, couplings=lc.couplings + tuple(extra.get(name, ()))) for name, lc in lifecycles.items()}


def procedure(raw: Raw, source: str) -> model.Procedure:
    """One procedure with its steps."""
    steps = tuple(
        model.Step(
            step["name"],
            step["kind"],
            tuple(step.get("fires", ())),
            MappingProxyType(
                {
                    name: model.Outcome(name, out["then"], tuple(out.get("fires", ())), out.get("means", ""))
                    for name, out in step["outcomes"].items()
                }
            ),
            step["meaning"],
        )
        for step in raw["steps"]
    )
    return model.Procedure(raw["id"], raw["title"], raw["actor"], steps, source)


def table(raw: Raw, source: str) -> Table:
    """One table; list rows are decisions without conditions."""
    if raw["kind"] == "list":
        rows = tuple(
            Row(item["id"], MappingProxyType({}), MappingProxyType({k: _frozen(v) for k, v in item.items()}))
            for item in raw["rows"]
        )
        return Table(raw["id"], raw["title"], source, "list", MappingProxyType({}), rows)
    columns = MappingProxyType({name: tuple(values) for name, values in raw["columns"].items()})
    return Table(raw["id"], raw["title"], source, "decision", columns, tuple(_row(item) for item in raw["rows"]))


def _row(raw: Raw) -> Row:
    source_rows = tuple(raw.get("source_rows", ()))
    return Row(
        raw["id"],
        MappingProxyType({name: _many(value) for name, value in raw["when"].items()}),
        MappingProxyType({**raw["then"], "source_rows": source_rows}),
        source_rows,
    )


def requirement(raw: Raw, source: str) -> model.Requirement:
    """One obligation with its cells."""
    return model.Requirement(
        id=raw["id"],
        source=source,
        profile=raw["profile"],
        level=raw["level"],
        kind=raw["kind"],
        statement=raw["statement"],
        where=raw["where"],
        given=raw["given"],
        when=raw["when"],
        then=raw["then"],
        observable=raw["observable"],
        faults=tuple(raw["faults"]),
        mutant=raw["mutant"],
        status=raw["status"],
        core=raw.get("core", False),
        same_as=raw.get("same_as"),
        note=raw.get("note", ""),
        reason=raw.get("reason", ""),
        cells=tuple(_cell(cell) for cell in raw.get("cells", ())),
    )


def _cell(raw: Raw) -> model.Cell:
    return model.Cell(
        raw["id"],
        raw["text"],
        tuple(raw["needs"]),
        raw["rung"],
        tuple(raw["evidence"]),
        tuple(raw.get("modes", ())),
    )


def interpretation(raw: Raw, source: str) -> model.Interpretation:
    """One ambiguity with its readings."""
    readings = tuple(
        model.Reading(
            item["id"],
            item["text"],
            item["status"],
            item["variant"],
            tuple(item.get("unreachable", ())),
            item.get("note", ""),
        )
        for item in raw["readings"]
    )
    touches = tuple(raw.get("touches", ()))
    return model.Interpretation(raw["id"], source, raw["where"], raw["problem"], readings, raw["proposed"], touches)


def profile(raw: Raw, source: str, requirements: Iterable[model.Requirement]) -> model.Profile:
    """One profile; which requirements are core or extended follows from the requirements."""
    groups = frozenset(raw["groups"])
    mine = [item for item in requirements if item.profile in groups]
    return model.Profile(
        id=raw["id"],
        title=raw["title"],
        source=source,
        groups=tuple(raw["groups"]),
        rungs=MappingProxyType(dict(raw["rungs"])),
        core=tuple(item.id for item in mine if item.core),
        extended=tuple(item.id for item in mine if not item.core),
    )


BUILDERS: Mapping[str, Callable[[Raw, str], Any]] = {
    "lifecycle": lifecycle,
    "procedure": procedure,
    "table": table,
    "requirement": requirement,
    "interpretation": interpretation,
    "command": commands.family,
}


def build(entries: Iterable[Entry]) -> dict[str, dict[str, Any]]:
    """Everything by kind and id; profiles last, because they are derived from the requirements."""
    found: dict[str, dict[str, Any]] = {kind: {} for kind in (*BUILDERS, "profile")}
    profiles: list[Entry] = []
    for entry in entries:
        if entry.kind == "profile":
            profiles.append(entry)
        else:
            found[entry.kind][entry.id] = BUILDERS[entry.kind](entry.data, entry.source)
    for entry in profiles:
        found["profile"][entry.id] = profile(entry.data, entry.source, found["requirement"].values())
    found["lifecycle"] = dict(mirrored(found["lifecycle"]))
    return found
