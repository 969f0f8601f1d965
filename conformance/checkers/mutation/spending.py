"""The spend between anchor and gate: what shuts the gate, what is aborted, what stays spent (APPR-015 to 019, 030)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.mutation.cases import Case, presenting, used_before
from conformance.checkers.mutation.facts import Command, Fault
from conformance.checkers.mutation.index import Index
from conformance.checkers.mutation.policy import Presented
from conformance.checkers.mutation.registry import CHECKERS

SPEND = ("approval", None, "Spent")
ANCHOR = ("mutation_attempt", None, "Prepared")
_DEADLINE_MS = 20_000


@CHECKERS.checker("APPR-015", "suite", "wire", "answer", "rows")
def no_approval_is_no_shortcut(index: Index) -> Iterator[Finding]:
    """What is sent without need of an approval has its attempt, prepared and dispatched, and no spend."""
    for case in index.cases:
        command, connections = case.command, index.connections_of(case.command)
        looked = index.rows_after(command.until)
        if case.policy.mode != "not_required" or not connections or looked is None or not index.linked:
            continue
        yield Met("keyed" if command.key else "unkeyed")
        made = index.attempts_of(command)
        if not made and case.fresh:
            yield Violation(
                f"an attempt of {command.request_id}, though no approval is required",
                "it was sent without any row",
                connections[0].seq,
                "rows",
            )
        for attempt in made:
            spent = [spend for spend in looked.spends or () if spend["attempt"] == attempt]
            if spent:
                yield Violation(
                    "no spend for an operation that requires no approval",
                    f"{spent[0]['reference']} was spent for it",
                    looked.seq,
                    "rows",
                )


def _failed_spends(index: Index, *actions: str) -> Iterator[tuple[Fault, Command]]:
    for fault in index.faults:
        if fault.action in actions and SPEND in fault.changes and fault.command is not None and fault.command.invokes:
            yield fault, fault.command


def _silent(index: Index, command: Command, since: int, why: str) -> Iterator[Finding]:
    for connection in index.connections_of(command):
        if connection.seq > since:
            happened = f"{connection.proc} connected to the remote afterwards"
            yield Violation(f"no request of {command.request_id}: {why}", happened, connection.seq, "wire")


@CHECKERS.checker("APPR-016", "suite", "wire", "answer", "rows")
def a_failed_spend_keeps_the_gate_shut(index: Index) -> Iterator[Finding]:
    """A spend that the store failed, or that somebody else was ahead of, is followed by no request."""
    for fault, command in _failed_spends(index, "fail"):
        yield Met("failed")
        yield from _silent(index, command, fault.seq, "its spend failed")
    for case in _outrun(index):
        yield Met("refused")
        yield from _silent(index, case.command, case.command.seq, "its approval was spent for another attempt")


def _outrun(index: Index) -> Iterator[Case]:
    """The cases with an attempt whose approval is spent, by the rows, for another attempt."""
    for case in index.cases:
        rows = index.rows_after(case.command.until)
        made = index.attempts_of(case.command)
        if case.presented is None or rows is None or not made or case.command.outcome != "done":
            continue
        owners = {s["attempt"] for s in rows.spends or () if (s["issuer"], s["reference"]) == case.presented.name}
        if owners and not owners & set(made):
            yield case


@CHECKERS.checker("APPR-017", "suite", "wire", "answer", "rows")
def an_uncertain_spend_keeps_the_gate_shut(index: Index) -> Iterator[Finding]:
    """A spend whose acknowledgement was lost, in either world, is followed by no request."""
    for fault, command in _failed_spends(index, "lose-ack"):
        yield Met(str(fault.world).replace("_", "-"))
        yield from _silent(index, command, fault.seq, "the acknowledgement of its spend was lost")


@CHECKERS.checker("APPR-018", "suite", "wire", "answer", "rows")
def an_attempt_without_its_spend_is_aborted(index: Index) -> Iterator[Finding]:
    """After a failed or uncertain spend the row is kept as Aborted at the answer, and the caller told not_attempted."""
    for fault, command in _failed_spends(index, "fail", "lose-ack"):
        rows = index.rows_after(command.until)
        if command.outcome != "done" or rows is None:
            continue
        yield Met("failed" if fault.action == "fail" else f"lost-{str(fault.world).replace('_', '-')}")
        others = sum(f.command is command for f in index.faults) > 1
        if others and not index.recovered_after(command.until):
            continue
        if others:
            rows = index.rows[-1]
        made = index.attempts_of(command)
        # What was taken away ahead of the answer may never have been in a snapshot; its spend says that it was there.
        if not made and not others and index.linked and ANCHOR not in fault.changes:
            allowed = f"the attempt of {command.request_id} kept as Aborted, its spend being unsure"
            yield Violation(allowed, "there is no row of it", rows.seq, "rows")
        for attempt in made:
            if rows.state(attempt) != "Aborted":
                happened = f"its row is {rows.state(attempt) or 'gone'}"
                yield Violation(f"attempt {attempt[-6:]} Aborted, its spend being unsure", happened, rows.seq, "rows")
        if not others and command.classification != "not_attempted":
            told = f"the caller was told {command.classification} with {command.code or 'success'}"
            yield Violation("not_attempted after a spend that was not certain", told, command.until, "answer")


@CHECKERS.checker("APPR-019", "suite", "wire", "answer", "rows")
def an_abort_gives_nothing_back(index: Index) -> Iterator[Finding]:
    """What was spent for an attempt that was aborted stays spent, in the rows and for whoever presents it again."""
    yield from _kept(index)
    if not index.rows:
        return
    last = index.rows[-1]
    for case in index.cases:
        presented, command = case.presented, case.command
        if presented is None or presented.fails or not case.candidate:
            continue
        for other in presenting(index, presented):
            cell = _aborted(index, other.command) if other.command.until < command.seq else None
            made = index.attempts_of(other.command)
            if cell is None or not any(a in _ever_spent(index) for a in made):
                continue
            if not any(last.state(a) == "Aborted" for a in made):
                continue
            yield Met(cell)
            for connection in index.connections_of(command):
                why = f"{presented.name[1]} was spent for an attempt that was aborted"
                yield Violation(f"no request: {why}", f"{connection.proc} connected", connection.seq, "wire")
                break


def _aborted(index: Index, command: Command) -> str | None:
    """What ended the attempt of a command ahead of its gate, as far as the suite did it."""
    if any(index.during(command, frozenset({"host.cancel"}))):
        return "cancel"
    return "deadline" if index.elapsed(command) >= _DEADLINE_MS else None


def _ever_spent(index: Index) -> set[str]:
    return {spend["attempt"] for rows in index.rows for spend in rows.spends or ()}


def _kept(index: Index) -> Iterator[Finding]:
    known: dict[str, str] = {}
    for rows in index.rows:
        if rows.spends is None:
            continue
        now = {str(spend["spend"]): str(spend["attempt"]) for spend in rows.spends}
        for spend, attempt in known.items():
            if spend not in now and rows.state(attempt) == "Aborted":
                happened = "the row of the spend is gone"
                yield Violation("a spend stays when its attempt is aborted", happened, rows.seq, "rows")
                return
        known = now


@CHECKERS.checker("APPR-030", "suite", "wire", "answer", "rows")
def only_the_spend_uses_up(index: Index) -> Iterator[Finding]:
    """A call that ended ahead of its spend leaves the approval that it carried as it was: the next one passes."""
    for case in index.cases:
        presented = case.presented
        if presented is None or presented.fails or presented.record["spent"]:
            continue
        yield from _unsure_of_its_anchor(index, case, presented)
        if not case.candidate:
            continue
        earlier = [c for c in _carrying(index, presented.name) if c.command.seq < case.command.seq]
        if used_before(index, case) is not None or any(_reached_spend(index, c) for c in earlier):
            continue
        cells = {_ended(index, c) for c in earlier} - {None}
        if case.command.code in ("approval_replayed", "approval_refused"):
            if earlier:
                yield Violation(
                    f"{presented.name[1]} is unspent: no call that carried it got as far as its spend",
                    f"the caller was told {case.command.code}",
                    case.command.until,
                    "answer",
                )
        elif index.connections_of(case.command):
            yield from (Met(cell) for cell in sorted(str(c) for c in cells))


def _unsure_of_its_anchor(index: Index, case: Case, presented: Presented) -> Iterator[Finding]:
    """A call that never heard of its anchor ends there: whatever row survived, no spend is on record for it."""
    lost = _lost_anchor(index, case)
    others = (c.command for c in _carrying(index, presented.name) if c is not case)
    beside = any(c.seq < case.command.until and c.until > case.command.seq for c in others)
    if lost is None or beside or _reached_spend(index, case):
        return
    before, after = (index.rows_before(seq) for seq in (case.command.seq, index.seen_by(case.command) + 1))
    if after is None or after.spends is None:
        return
    if lost.world == "committed":
        yield Met("anchor-uncertain")
    held, now = (
        {(s["issuer"], s["reference"]) for s in (rows.spends if rows is not None else None) or ()}
        for rows in (before, after)
    )
    if presented.name in now - held:
        yield Violation(
            f"{presented.name[1]} is unspent: the call that carried it was never acknowledged as anchored",
            "a spend of it is on record",
            after.seq,
            "rows",
        )


def _lost_anchor(index: Index, case: Case) -> Fault | None:
    """The fault by which a call was not told whether its attempt was prepared, or None."""
    mine = (f for f in index.faults if f.command is case.command and f.action == "lose-ack")
    return next((f for f in mine if ANCHOR in f.changes), None)


def _carrying(index: Index, name: tuple[str, str]) -> Iterator[Case]:
    """Every case with this reference in its request, whatever became of it."""
    for case in index.cases:
        given = case.policy.request.get("approval") or {}
        if given.get("reference") == name[1]:
            yield case


def _reached_spend(index: Index, case: Case) -> bool:
    """Whether a call may have spent: its attempt was prepared, and nothing proves that it was another's approval."""
    struck = [f for f in index.faults if f.command is case.command and ANCHOR not in f.changes]
    told = _lost_anchor(index, case) is None
    anchored = told and any(m.dest == "Prepared" for a in index.attempts_of(case.command) for m in index.moves_of(a))
    return bool(index.connections_of(case.command)) or anchored or bool(struck) or case.command.outcome != "done"


_ENDS = {"freshness": "staleness", "bound_lookup": "admission", "enablement": "admission", "access": "admission"}


def _ended(index: Index, case: Case) -> str | None:
    """By which check a call ended ahead of its spend."""
    if any(f.command is case.command and f.action == "fail" and ANCHOR in f.changes for f in index.faults):
        return "anchor"
    if case.policy.first is not None:
        return _ENDS.get(case.policy.first)
    if case.command.code == "idempotency_conflict":
        return "conflict"
    return "preflight" if case.policy.credential != "ready" and case.plain else None
