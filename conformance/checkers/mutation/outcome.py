"""What the caller is told, against what the observer could know (OBS-042, OBS-057, OBS-058)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.facts import Command, Connection, Fault
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.observed import only_answer, store_faults, undisturbed, wrong_answer
from conformance.checkers.mutation.registry import CHECKERS

_LOST = {"closed": "dropped", "reset": "reset", "cut": "partial", "abandoned": "deadline"}


@CHECKERS.checker("OBS-042", "suite", "wire", "answer", "rows")
def lost_response_is_unknown(index: Index) -> Iterator[Finding]:
    """A request whose response was lost ends as unknown in the answer and Indeterminate in the row.

    No store fault excuses another answer. The row is Indeterminate when storage permits: a live host may leave it
    Dispatching (reading leave-dispatching) until a pass of recovery was done that no store fault struck.
    """
    for command in index.invocations:
        connections = index.connections_of(command)
        if len(connections) != 1:
            continue
        loss = _loss(command, connections[0])
        if loss is None:
            continue
        yield Met(loss)
        in_time = connections[0].seq < command.until
        told = (command.classification, command.code)
        if command.outcome == "done" and in_time and told != ("unknown", "outcome_unknown"):
            yield Violation(
                "unknown with outcome_unknown after the response was lost",
                f"the caller was told {command.classification} with {command.code or 'success'}",
                command.until,
                "answer",
            )
        yield from _row(index, command)


def _row(index: Index, command: Command) -> Iterator[Finding]:
    if not index.rows:
        return
    allowed = ("Indeterminate",) if index.recovered_after(command.until) else ("Indeterminate", "Dispatching")
    last = index.rows[-1]
    for attempt in index.attempts_of(command):
        state = last.state(attempt)
        if state is not None and state not in allowed and index.opened(attempt):
            yield Violation(
                f"attempt {attempt[-6:]} is Indeterminate in the end, its response having been lost",
                f"its row is {state}",
                last.seq,
                "rows",
            )


def _loss(command: Command, connection: Connection) -> str | None:
    if command.outcome == "no-answer":
        return "crash" if connection.read and connection.how in (None, "abandoned") else None
    if command.outcome != "done":
        return None
    return _LOST.get(connection.how or "")


TERMINAL_WRITE = ("mutation_attempt", "Dispatching", "Completed")
REFUSED_WRITE = ("mutation_attempt", "Dispatching", "Failed")


@CHECKERS.checker("OBS-057", "suite", "wire", "answer", "rows")
def known_success_survives_a_failed_terminal_write(index: Index) -> Iterator[Finding]:
    """The live observer holds the provider's success; a ledger that fails afterwards does not change its answer.

    The terminal write fails by a fault, or because somebody else has settled the row. Where the deadline passes
    meanwhile, a supervisor may have won before the success was received.
    """
    for command, cells in _known(index, "done", TERMINAL_WRITE):
        yield from (Met(cell) for cell in cells if cell)
        if command.classification != "applied" and (cells or _unrecorded(index, command, "Completed")):
            yield wrong_answer("applied, which the live observer knows from the provider", command)


@CHECKERS.checker("OBS-058", "suite", "wire", "answer", "rows")
def known_refusal_survives_a_failed_terminal_write(index: Index) -> Iterator[Finding]:
    """The live observer holds the provider's refusal; a ledger that fails afterwards does not change its answer.

    How a host tells a refusal is its own (provider-refusal-code, cause-on-refusal): where it told another one of the
    same operation in peace, this one is told alike.
    """
    refused = list(_known(index, "none", REFUSED_WRITE))
    for command, cells in refused:
        yield from (Met(cell) for cell in cells if cell)
        kept = command.classification == "refused" and command.code not in (None, "outcome_unknown")
        if not kept and (cells or _unrecorded(index, command, "Failed")):
            yield wrong_answer("refused, which the live observer knows from the provider", command)
        if not kept or not cells:
            continue
        for model, struck in refused:
            alike = model.request["operation"] == command.request["operation"]
            if struck or not alike or model.classification != "refused" or not undisturbed(index, model):
                continue
            if _told(model) != _told(command):
                allowed = f"{_words(model)}, as {model.request_id} was told of the same refusal"
                yield Violation(allowed, f"the caller was told {_words(command)}", command.until, "answer")
            break


def _told(command: Command) -> tuple[object, object]:
    return command.code, command.mutation.get("cause")


def _words(command: Command) -> str:
    return f"{command.code} with cause {command.mutation.get('cause')}"


def _known(index: Index, effect: str, write: tuple[str, str, str]) -> Iterator[tuple[Command, list[str]]]:
    """Each invocation that heard this definite answer, with the store faults that struck it later, as cells."""
    for command in index.invocations:
        answer = only_answer(index, command)
        if answer is not None and answer.known and answer.effect == effect:
            yield command, [_cell(f, write) for f in store_faults(index, command) if f.seq > answer.end_seq]


def _cell(fault: Fault, write: tuple[str, str, str]) -> str:
    """The cell of a store fault; one that struck another write is none."""
    cell = "failed" if fault.action == "fail" else f"lost-{str(fault.world).replace('_', '-')}"
    return cell if write in fault.changes else ""


def _unrecorded(index: Index, command: Command, state: str) -> bool:
    """Whether the rows of the answer's time say anything else of the opened attempt."""
    rows = index.rows_after(command.until)
    attempts = [a for a in index.attempts_of(command) if index.opened(a)]
    return rows is not None and bool(attempts) and all(rows.state(a) != state for a in attempts)
