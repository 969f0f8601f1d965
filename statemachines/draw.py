"""Drawings of a lifecycle as text: Mermaid for Markdown pages, DOT for Graphviz."""

from __future__ import annotations

from collections.abc import Mapping

from statemachines.model import Lifecycle, Transition


def mermaid(lc: Lifecycle) -> str:
    """A Mermaid `stateDiagram-v2`; arrows carry the triggers, a note stands at each state with a class."""
    lines = ["stateDiagram-v2", f"    %% {lc.id}: {lc.title}"]
    lines += [f"    {name}" for name in lc.states]
    for (source, dest), triggers in _arrows(lc).items():
        label = "<br/>".join(triggers)
        lines.append(f"    {source or '[*]'} --> {dest}: {label}")
    lines += [f"    {name} --> [*]" for name in lc.states if name in lc.terminal]
    for name, state in lc.states.items():
        if state.classification:
            lines += [f"    note right of {name}: {state.classification}"]
    return "\n".join(lines) + "\n"


def dot(lc: Lifecycle) -> str:
    """A Graphviz digraph; terminal states have a double border, states that hold a slot are filled."""
    lines = [
        f"digraph {_quote(lc.id)} {{",
        f"  label={_quote(lc.title)};",
        "  rankdir=LR;",
        '  node [shape=box, style=rounded, fontname="Helvetica"];',
        '  edge [fontname="Helvetica", fontsize=10];',
    ]
    if any(source is None for source, _ in lc.edges):
        lines.append('  "" [shape=point];')
    for name, state in lc.states.items():
        shape = [f"tooltip={_quote(state.meaning)}"]
        if name in lc.terminal:
            shape.append("peripheries=2")
        if state.occupies:
            shape.append('style="rounded,filled", fillcolor="#eef2f7"')
        if state.classification:
            shape.append(f"label={_quote(name + chr(10) + state.classification)}")
        lines.append(f"  {_quote(name)} [{', '.join(shape)}];")
    for (source, dest), triggers in _arrows(lc).items():
        label = _quote("\n".join(triggers))
        lines.append(f"  {_quote(source or '')} -> {_quote(dest)} [label={label}];")
    return "\n".join([*lines, "}"]) + "\n"


def guard_text(transition: Transition) -> str:
    """The guard of a transition as people would write it, empty without one."""
    return " and ".join(
        f"{name} is {' or '.join(_value(value) for value in allowed)}" for name, allowed in transition.when.items()
    )


def _value(value: object) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _arrows(lc: Lifecycle) -> Mapping[tuple[str | None, str], list[str]]:
    """Triggers by edge, in the order of the file."""
    found: dict[tuple[str | None, str], list[str]] = {}
    for transition in lc.transitions:
        found.setdefault((transition.source, transition.dest), []).append(transition.trigger)
    return found


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
