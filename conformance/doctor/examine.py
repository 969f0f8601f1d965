"""The examination: every check that the declared rung calls for, family by family, each on its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from conformance.carriers.base import Carrier, DriverProblem
from conformance.carriers.orphans import Mark
from conformance.doctor import basics, durable, points
from conformance.doctor.basics import Notes
from conformance.doctor.bench import Bench
from conformance.doctor.report import MEND, NOT_TRIED, OK, RUNGS, Checked, Report
from conformance.drivers import PATIENCE_MS, Identity, identify
from conformance.families.base import Family
from statemachines.spec import load


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at; ``needs`` is the check without which it would only say the same again.

    It is played at its rung. Where ``timed``, it is played at L1 if the driver has that, since what waits there looks
    again at `set_time` alone; and then it is a check of that rung.
    """

    id: str
    title: str
    rung: str
    look: Callable[[Bench], Notes]
    needs: str = "effect"
    timed: bool = False
    #: The title where the protocol has no remote; the same one if empty.
    local: str = ""

    def called(self, *, remote: bool) -> str:
        """Its title in a protocol with a remote, or without."""
        return self.title if remote else self.local or self.title

    def at(self, declared: str) -> str:
        """The rung to play it at."""
        return min(declared, "L1") if self.timed else self.rung


CHECKS: Final = (
    Check("effect", "one effect and its retry, in good order", "L0", basics.effect, needs=""),
    Check("isolation", "two runs do not see each other", "L0", basics.isolation),
    Check("reset", "a second reset replaces everything", "L0", basics.again),
    Check("commands", "every command is answered in its shape", "L0", basics.commands),
    Check("recovery", "recovery of an empty store", "L0", basics.recovery),
    Check("unknown-command", "a command that does not exist", "L0", basics.unknown_command),
    Check("later-members", "members of a later version", "L0", basics.later_members),
    Check("survival", "state outlives a kill", "L0", basics.survival),
    Check("kill", "a kill while the remote holds the request", "L0", basics.killed_while_held, local="a kill"),
    Check("snapshot", "rows are there, and stay as they are", "L1", durable.snapshot),
    Check("rows-survive", "rows outlive a kill", "L1", durable.rows_survive, needs="snapshot"),
    Check("listening", "set_time is answered while a command is under way", "L1", durable.listens),
    Check("clock", "time comes from set_time alone", "L1", durable.time_is_obeyed, needs="snapshot"),
    Check(
        "second-actor",
        "others act while the remote holds the request",
        "L0",
        basics.second_actor,
        timed=True,
        local="others act, one behind the other",
    ),
    Check("points", "every port call is announced, and stands where it says", "L2", points.announced),
    Check("claimed-points", "the points that hello names", "L2", points.claimed, needs="points"),
    Check("pauses", "pause and hang at each point", "L2", points.pauses, needs="points"),
    Check("failures", "fail at each store call", "L2", points.failures, needs="points"),
    Check("commits", "both worlds of a commit", "L2", points.commits, needs="points"),
)


def examine(
    driver: str,
    carrier: Carrier,
    families: Mapping[str, Family],
    *,
    wanted: str | None = None,
    patience_ms: int = PATIENCE_MS,
    mark: Mark | None = None,
    begun: Callable[[str], None] = lambda _: None,
) -> Report:
    """Examine a driver, called ``driver`` in the report, in all ``families`` that it declares, or ``wanted`` alone.

    ``mark`` is in the environment of the carrier's processes; ``begun`` is told the title of each check. The carrier is
    shut down. Raises SuiteProblem for a fault of the suite; whatever the driver does is in the report.
    """
    checks: list[Checked] = []
    before = _listing()
    identity = None
    try:
        begun("hello")
        identity = _hello(carrier, families, wanted, patience_ms, checks)
        if identity is not None:
            for name in identity.families:
                if name in families and wanted in (None, name):
                    checks += _family(families[name], identity, carrier, patience_ms, begun)
    finally:
        carrier.shutdown()
    checks.append(_leavings(mark, before))
    report = Report(driver, identity, tuple(checks))
    return Report(driver, identity, report.checks, tuple(_lift(report, families)))


def _hello(
    carrier: Carrier, families: Mapping[str, Family], wanted: str | None, patience_ms: int, checks: list[Checked]
) -> Identity | None:
    notes = Notes()
    identity = None
    try:
        carrier.rung = "L0"
        identity = identify(carrier, notes.bad, patience_ms)
        _claims(identity, families, wanted, notes)
        if identify(carrier, notes.bad, patience_ms) != identity:
            notes.bad("hello was answered differently by a second process: who a driver is does not change")
    except DriverProblem as problem:
        notes.bad(str(problem))
    checks.append(_checked("hello", "who it is, and its good-bye", "", "L0", notes))
    return identity


def _claims(identity: Identity, families: Mapping[str, Family], wanted: str | None, notes: Notes) -> None:
    """What hello says against what there is."""
    spec = load()
    served = [name for name in identity.families if name in families]
    for name in identity.families:
        if name not in families:
            notes.remark(f"hello offers the family {name!r}, which this suite does not know")
    if not served:
        notes.bad(f"hello offers no family that this suite knows: {', '.join(families)}")
    elif wanted is not None and wanted not in served:
        notes.bad(f"hello does not offer the family {wanted!r}, which was asked for")
    for about, reading in identity.readings.items():
        entry = spec.interpretations.get(about)
        if entry is None or reading not in {r.id for r in entry.readings if r.status != "rejected"}:
            notes.bad(
                f"hello declares the reading {about}: {reading}, which the specification does not know or rejects"
            )
    if identity.points and identity.rung != "L2":
        notes.bad("hello names points, which belong to rung L2: offer them with `arm` and `resume`, or leave them out")


def _family(
    family: Family, identity: Identity, carrier: Carrier, patience_ms: int, begun: Callable[[str], None]
) -> Iterator[Checked]:
    bench = Bench.around(family, identity, carrier, patience_ms)
    stopped: dict[str, str] = {}
    said: set[str] = set()
    for check in CHECKS:
        if check.rung > identity.rung:
            continue
        title = check.called(remote=bench.remote)
        begun(f"{family.id}: {title}")
        bench.rung = check.at(identity.rung)
        about = (check.id, title, family.id, bench.rung)
        if check.needs in stopped:
            stopped[check.id] = stopped[check.needs]
            yield Checked(*about, NOT_TRIED, (), (f"it needs {stopped[check.id]!r}, which ended early",))
            continue
        notes = Notes()
        try:
            notes = check.look(bench)
        except DriverProblem as problem:
            notes.bad(str(problem))
            stopped[check.id] = check.id
            bench.dismiss()
        # What another check has said already needs no second telling, but the check has not passed all the same.
        status = MEND if notes.mend else OK
        mend, remarks = (tuple(s for s in sentences if s not in said) for sentences in (notes.mend, notes.remarks))
        said |= {*mend, *remarks}
        yield Checked(*about, status, mend, remarks)
    bench.dismiss()


def _checked(id_: str, title: str, family: str, rung: str, notes: Notes) -> Checked:
    return Checked(id_, title, family, rung, MEND if notes.mend else OK, tuple(notes.mend), tuple(notes.remarks))


def _listing() -> frozenset[str]:
    """The names in the working directory, which is also the driver's."""
    return frozenset(name for name in os.listdir() if name != "__pycache__")


def _leavings(mark: Mark | None, before: frozenset[str]) -> Checked:
    """What is left when everything has ended."""
    notes = Notes()
    if mark is not None and (left := mark.end()):
        what = "a process" if left == 1 else f"{left} processes"
        notes.bad(f"{what} outlived the driver: children stay in its process group, so that a kill reaches them")
    if new := sorted(_listing() - before):
        notes.remark(
            f"new in the working directory: {', '.join(new[:5])}; everything durable belongs into state_dir, and logs"
            " to stderr"
        )
    return _checked("leavings", "nothing is left behind", "", "L0", notes)


def _lift(report: Report, families: Mapping[str, Family]) -> Iterator[str]:
    """What would bring the driver higher."""
    identity = report.identity
    if identity is None:
        return
    if not report.fit:
        reached = report.reached or "no rung"
        yield f"it reaches {reached} and declares {identity.rung}: mend what is said above"
        return
    if identity.rung == RUNGS[-1]:
        return
    above = RUNGS[RUNGS.index(identity.rung) + 1]
    what = {
        "L1": "answer `snapshot` from the durable store and `set_time` as the only clock",
        "L2": "announce every port call, and answer `arm` and `resume`",
    }[above]
    gain = ", ".join(_gains([families[f] for f in identity.families if f in families], identity.rung, above))
    yield f"to reach {above}: {what}; it can then pass {gain}"


def _gains(families: Iterable[Family], now: str, above: str) -> Iterator[str]:
    """How many requirements of a family can pass at each of two rungs."""
    spec = load()
    for family in families:
        live = [spec.requirements[c.requirement] for c in family.checkers if c.requirement in spec.requirements]
        one, two = (sum(any(c.rung <= rung for c in r.cells) for r in live) for rung in (now, above))
        yield f"{two} instead of {one} of {len(live)} requirements of {family.id}"
