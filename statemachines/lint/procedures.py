"""Rules about procedures: who reacts to what, and what may follow an uncertain step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from statemachines.layout import Entry
from statemachines.lint.registry import Context, Path, Problem, names, rule
from statemachines.model import Procedure, Transition


def _steps(context: Context) -> Iterator[tuple[Entry, Procedure, int, Any]]:
    for entry, procedure in context.each("procedure"):
        for index, step in enumerate(procedure.steps):
            yield entry, procedure, index, step


def _transitions(context: Context, trigger: str) -> list[Transition]:
    lifecycle, _, name = trigger.partition(".")
    lc = context.built["lifecycle"].get(lifecycle)
    return [item for item in lc.transitions if item.trigger == name] if lc else []


def _in_place(context: Context, trigger: str) -> bool:
    """Whether the trigger is a write that keeps its state."""
    lifecycle, _, name = trigger.partition(".")
    lc = context.built["lifecycle"].get(lifecycle)
    return lc is not None and any(write.trigger == name for write in lc.in_place)


@rule("procedure-step-name", "A step is called after its procedure, and its name is its own.")
def step_name(context: Context) -> Iterator[Problem]:
    count = Counter(step.name for *_, step in _steps(context))
    for entry, procedure, index, step in _steps(context):
        path: Path = ("steps", index, "name")
        if step.name.partition(".")[0] != procedure.id:
            yield entry, path, f"{step.name} does not begin with {procedure.id}.", "rename it"
        elif count[step.name] > 1:
            yield entry, path, f"{step.name} names more than one step", "rename one"


@rule("procedure-unknown-step", "An outcome leads to a step of the same procedure.")
def unknown_step(context: Context) -> Iterator[Problem]:
    for entry, procedure, index, step in _steps(context):
        known = {other.name for other in procedure.steps}
        for outcome in step.outcomes.values():
            if outcome.then is not None and outcome.then not in known:
                path: Path = ("steps", index, "outcomes", outcome.name, "then")
                yield (
                    entry,
                    path,
                    f"{procedure.id} has no step {outcome.then}",
                    "correct it, or use null to end",
                )


@rule("procedure-unreachable-step", "Every step can be reached from the first.")
def unreachable_step(context: Context) -> Iterator[Problem]:
    for entry, procedure in context.each("procedure"):
        leads = {step.name: {out.then for out in step.outcomes.values()} for step in procedure.steps}
        reached = {procedure.steps[0].name}
        while more := {then for name in reached for then in leads.get(name or "", ())} - reached - {None}:
            reached |= more
        for index, step in enumerate(procedure.steps):
            if step.name not in reached:
                yield entry, ("steps", index), f"nothing leads to {step.name}", "let an outcome lead to it"


@rule("procedure-lost-ack", "A durable step says what happens when its acknowledgement is lost.")
def lost_ack(context: Context) -> Iterator[Problem]:
    for entry, _, index, step in _steps(context):
        if step.kind == "durable" and "lost_ack" not in step.outcomes:
            message = f"{step.name} has no reaction to a lost acknowledgement"
            yield entry, ("steps", index, "outcomes"), message, "add the outcome lost_ack"


@rule("procedure-indefinite-missing", "A remote step says what happens when the outcome stays open.")
def indefinite_missing(context: Context) -> Iterator[Problem]:
    for entry, _, index, step in _steps(context):
        if step.kind == "remote" and "indefinite" not in step.outcomes:
            message = f"{step.name} has no reaction to an indefinite answer"
            yield entry, ("steps", index, "outcomes"), message, "add the outcome indefinite"


@rule("procedure-indefinite-definite", "An indefinite outcome is never recorded as a definite one.", local=False)
def indefinite_definite(context: Context) -> Iterator[Problem]:
    for entry, _, index, step in _steps(context):
        outcome = step.outcomes.get("indefinite")
        for place, trigger in enumerate(outcome.fires if outcome else ()):
            lc = context.built["lifecycle"].get(trigger.partition(".")[0])
            states = lc.states if lc else {}
            for transition in _transitions(context, trigger):
                said = states[transition.dest].classification if transition.dest in states else None
                if said not in (None, "unknown"):
                    path: Path = ("steps", index, "outcomes", "indefinite", "fires", place)
                    message = f"{trigger} records {said}, and nothing is known"
                    yield entry, path, message, "fire a trigger that leads to unknown"


@rule("procedure-blind-send", "Only a committed durable step leads straight to a remote one.")
def blind_send(context: Context) -> Iterator[Problem]:
    for entry, procedure, index, step in _steps(context):
        remote = {other.name for other in procedure.steps if other.kind == "remote"}
        for outcome in step.outcomes.values() if step.kind == "durable" else ():
            if outcome.then in remote and outcome.name != "committed":
                message = f"{step.name} goes on to {outcome.then} after {outcome.name}"
                path: Path = ("steps", index, "outcomes", outcome.name, "then")
                yield entry, path, message, "send only after a definite commit"


@rule("procedure-fires-kind", "Only a durable step fires triggers.")
def fires_kind(context: Context) -> Iterator[Problem]:
    for entry, _, index, step in _steps(context):
        if step.fires and step.kind != "durable":
            message = f"{step.name} is {step.kind} and changes no row"
            yield entry, ("steps", index, "fires"), message, "move the triggers to a durable step"


@rule("procedure-unknown-trigger", "Triggers exist in the lifecycle that they name.", local=False)
def unknown_trigger(context: Context) -> Iterator[Problem]:
    for entry, _, index, step in _steps(context):
        places: list[tuple[Path, str]] = [(("steps", index, "fires", n), t) for n, t in enumerate(step.fires)]
        for outcome in step.outcomes.values():
            path: Path = ("steps", index, "outcomes", outcome.name, "fires")
            places += [((*path, n), trigger) for n, trigger in enumerate(outcome.fires)]
        for path, trigger in places:
            if not _transitions(context, trigger) and not _in_place(context, trigger):
                yield (
                    entry,
                    path,
                    f"there is no trigger {trigger}",
                    "write lifecycle.trigger as in spec/lifecycles",
                )


@rule("procedure-outcome-fires", "What an outcome records, the next step can fire.")
def outcome_fires(context: Context) -> Iterator[Problem]:
    for entry, procedure, index, step in _steps(context):
        fires = {other.name: set(other.fires) for other in procedure.steps}
        for outcome in step.outcomes.values():
            missing = [trigger for trigger in outcome.fires if trigger not in fires.get(outcome.then or "", ())]
            if missing:
                path: Path = ("steps", index, "outcomes", outcome.name, "fires")
                message = f"{outcome.then or 'the end'} does not fire {names(missing)}"
                yield entry, path, message, "name it in `fires` of that step"


@rule(
    "procedure-unfired-trigger",
    "A lifecycle that procedures drive has no trigger that none of them fires.",
    local=False,
)
def unfired_trigger(context: Context) -> Iterator[Problem]:
    fired = {trigger for *_, step in _steps(context) for trigger in step.fires}
    driven = {trigger.partition(".")[0] for trigger in fired}
    for entry, lc in context.each("lifecycle"):
        for index, item in enumerate(lc.transitions if lc.id in driven else ()):
            if f"{lc.id}.{item.trigger}" not in fired:
                message = f"no step fires {lc.id}.{item.trigger}"
                yield entry, ("transitions", index, "trigger"), message, "name it in a procedure or remove it"
        for index, write in enumerate(lc.in_place if lc.id in driven else ()):
            if f"{lc.id}.{write.trigger}" not in fired:
                message = f"no step fires {lc.id}.{write.trigger}"
                yield entry, ("in_place", index, "trigger"), message, "name it in a procedure or remove it"
