"""A thin pytest plugin: one item for each requirement, all from one run of the suite (DESIGN section 7).

    pytest --pyargs conformance --onceproof-driver "node driver.js"

The run is the same as ``onceproof run``: same schedules, same verdicts, same folder of reports. With ``-k`` only
the chosen requirements are judged. Without ``--onceproof-driver`` the plugin does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conformance.report.model import Report
    from conformance.verdict import Standing

_HERE = Path(__file__).parent
_OPTION = "onceproof_driver"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin; they mean what those of ``onceproof run`` mean."""
    group = parser.getgroup("onceproof", "conformance of durable outbound side effects")
    group.addoption(
        "--onceproof-driver", metavar="DRIVER", help="run the suite: 'reference' or a command line in quotes"
    )
    group.addoption("--onceproof-budget", default="ci", metavar="BUDGET", help="quick, ci or nightly (default: ci)")
    group.addoption("--onceproof-baseline", metavar="FILE", help="known failures, shown as xfailed")
    group.addoption("--onceproof-out", default="runs/pytest", metavar="DIR", help="reports (default: runs/pytest)")


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the requirements in place of the files of the package, when a driver is given."""
    if path == _HERE and parent.config.getoption(_OPTION):
        collected: pytest.Collector = Requirements.from_parent(parent, path=path, nodeid="onceproof")
        return collected
    return None


class Requirements(pytest.Directory):
    """The live requirements of what the driver offers."""

    def collect(self) -> Iterator[pytest.Item]:
        """One item for each requirement; asks the driver who it is."""
        from conformance.carriers.base import DriverProblem  # noqa: PLC0415
        from conformance.drivers import UnknownDriver, carrier_maker, identify  # noqa: PLC0415
        from conformance.families import FAMILIES  # noqa: PLC0415
        from conformance.scope import judged_requirements  # noqa: PLC0415
        from statemachines.spec import load  # noqa: PLC0415

        if hasattr(self.config, "workerinput"):
            raise self.CollectError("onceproof: all requirements come from one run; leave pytest's -n away")
        try:
            carrier = carrier_maker(self.config.getoption(_OPTION))()
            try:
                offered = identify(carrier).families
            finally:
                carrier.shutdown()
        except (DriverProblem, UnknownDriver) as problem:
            raise self.CollectError(f"onceproof: {problem}") from None
        for requirement in judged_requirements(load(), [f for f in FAMILIES.values() if f.id in offered], ()):
            yield RequirementItem.from_parent(self, name=requirement.id)


class RequirementItem(pytest.Item):
    """What the run says of one requirement."""

    def runtest(self) -> None:
        """Fail with the story, skip what was not judged, xfail what is known."""
        report = _report(self.session)
        standing = next(s for s in report.standings if s.requirement.id == self.name)
        if standing.status in ("out-of-tier", "not-applicable"):
            pytest.skip(f"{standing.status}: {_cells(standing)}")
        if standing.status in ("known-failure", "declared-gap"):
            entry = next(e for e in report.header["baseline"] if e["id"] == self.name)
            pytest.xfail(f"{standing.status}: {entry['reason']} ({entry['issue']})")
        if standing.status != "pass":
            raise NotConformant(_why(report, standing))
        if report.verdict.verdict == "none":
            raise NotConformant(report.verdict.why)
        untrue = [sentence for sentence in report.untrue if sentence.startswith(f"{self.name} ")]
        if untrue:
            raise NotConformant(f"BASELINE: {untrue[0]}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The story alone: a traceback of the suite helps nobody."""
        if isinstance(excinfo.value, NotConformant):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """The name in the list of failures."""
        return self.path, None, self.name


class NotConformant(Exception):
    """A requirement did not pass; the message is its story."""


_REPORT = pytest.StashKey["Report"]()


def _report(session: pytest.Session) -> Report:
    """The run, done when the first item asks for it."""
    if _REPORT not in session.stash:
        from conformance.baseline import BaselineError  # noqa: PLC0415
        from conformance.carriers.base import DriverProblem  # noqa: PLC0415
        from conformance.report.write import render  # noqa: PLC0415
        from conformance.run import run  # noqa: PLC0415
        from conformance.scope import UsageError  # noqa: PLC0415

        try:
            session.stash[_REPORT] = render(run(_options(session), _Silent()))
        except (UsageError, BaselineError, DriverProblem) as problem:
            pytest.exit(f"onceproof: {problem}", 3 if isinstance(problem, DriverProblem) else 2)
    return session.stash[_REPORT]


def _options(session: pytest.Session) -> Any:
    from conformance.scope import Options  # noqa: PLC0415

    get = session.config.getoption
    chosen = [item.name for item in session.items if isinstance(item, RequirementItem)]
    collected = session.stash.get(_COLLECTED, len(chosen))
    only = tuple(chosen) if len(chosen) < collected else ()
    baseline = get("onceproof_baseline")
    return Options(
        driver=get(_OPTION),
        only=only,
        budget=get("onceproof_budget"),
        out=Path(get("onceproof_out")),
        baseline=Path(baseline) if baseline else None,
    )


_COLLECTED = pytest.StashKey[int]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Remember how many requirements there are before anything is deselected."""
    session.stash[_COLLECTED] = sum(isinstance(item, RequirementItem) for item in items)


def _cells(standing: Standing) -> str:
    return ", ".join((*standing.out_of_tier, *standing.not_applicable))


def _why(report: Report, standing: Standing) -> str:
    from conformance.report.story import story  # noqa: PLC0415

    judged = {standing.requirement.id: standing.requirement}
    told = [story(f.trace, judged, f.file) for f in report.failures if f.requirement in judged]
    if told:
        return "\n".join(told)
    return f"{standing.status}: never occurred: {', '.join(standing.unmet) or 'nothing'}"


class _Silent:
    """Progress belongs to pytest here."""

    def phase(self, name: str, total: int) -> None:
        del name, total

    def step(self, outcome: object) -> None:
        del outcome

    def finished(self) -> None:
        return
