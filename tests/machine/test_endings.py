"""How a run may end besides well: missed faults, a failing driver or suite, an interrupt. A record is always left."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import conformance.run
from conformance import outcome as outcome_module
from conformance.carriers.base import Carrier, DriverProblem, SuiteProblem
from conformance.carriers.inprocess import InProcessCarrier
from conformance.families.mutation_host import MUTATION_HOST
from conformance.kit import Ports, Setup
from conformance.outcome import Outcome
from conformance.records import read_run
from conformance.report.model import Report
from conformance.report.terminal import terminal
from conformance.report.write import render
from conformance.run import run
from conformance.scope import Options
from conformance.search.execute import Execution
from reference_impl.driver import Reference
from reference_impl.mutation_host.host import MutationHost
from reference_impl.packages import with_host

SCENARIOS = len(MUTATION_HOST.scenarios)


class Watch:
    """Progress that counts, and may interrupt."""

    def __init__(self, interrupt_at: int | None = None) -> None:
        self.phases: list[str] = []
        self.steps = 0
        self.ended = 0
        self._interrupt_at = interrupt_at

    def phase(self, name: str, total: int) -> None:
        self.phases.append(f"{name} {total}" if total else name)

    def step(self, outcome: Outcome | None) -> None:
        del outcome
        self.steps += 1
        if self.steps == self._interrupt_at:
            raise KeyboardInterrupt

    def finished(self) -> None:
        self.ended += 1


def quick(out: Path, monkeypatch: pytest.MonkeyPatch, make: Any = Reference, watch: Watch | None = None) -> Report:
    """The report of a quick run against an implementation."""

    def carrier() -> Carrier:
        return InProcessCarrier("planted", make)

    monkeypatch.setattr(conformance.run, "carrier_maker", lambda _, **__: carrier)
    return render(run(Options(profiles=(MUTATION_HOST.id,), budget="quick", out=out), watch or Watch()))


def text(report: Report) -> str:
    return terminal(report, "runs")


class Declares(Reference):
    """Reaches one call more while it is recorded than ever again."""

    def open(self, setup: Setup, ports: Ports) -> Any:
        if ports.seam.record:
            reach = ports.seam.reach
            # The worker's gate is known by another name when nobody looks.
            ports.seam.reach = lambda step, call: reach(step.replace("prepare", "only_recorded"), call)  # type: ignore
        return super().open(setup, ports)


def test_points_that_never_fire_are_missed_and_leave_the_run_inconclusive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = quick(tmp_path, monkeypatch, Declares)
    assert report.tally.missed > 0
    assert (report.verdict.verdict, report.verdict.exit) == ("inconclusive", 4)
    assert "scheduled faults did not fire" in report.verdict.why
    assert "missed: w1 invoke.only_recorded:committed crash in mutation/recover-prepared" in text(report)


class FailingHost(MutationHost):
    """Cannot cancel."""

    def command(self, cmd: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        if cmd == "host.cancel":
            raise RuntimeError("no such table: \x1b[31mattempts")
        return super().command(cmd, args)


class Failing(Reference):
    """The driver of that host."""

    packages = with_host("mutation-host", FailingHost)


def test_a_command_that_fails_leaves_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = quick(tmp_path, monkeypatch, Failing)
    assert (report.verdict.verdict, report.verdict.exit) == ("none", 3)
    assert "the driver could not run mutation/cancel-prepared: host.cancel failed: RuntimeError" in report.verdict.why
    assert "\x1b" not in text(report)
    assert "\\x1b[31mattempts" in text(report)


class Unopened(Reference):
    """Cannot open its store."""

    def open(self, setup: Setup, ports: Ports) -> Any:
        raise OSError(f"no space left for {setup.run} of {ports.seam.actor}")


def test_a_driver_that_cannot_be_reset_ends_the_run_before_it_begins_and_the_record_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        DriverProblem, match="reset of process 'w1' was answered failed: OSError: no space left for r1 of w1"
    ):
        quick(tmp_path, monkeypatch, Unopened)
    record = read_run(tmp_path / "run.jsonl")
    assert (record.footer["complete"], record.footer["blame"]) == (False, "driver")
    assert render(tmp_path / "run.jsonl").verdict.exit == 3


@pytest.mark.parametrize("failure", [SuiteProblem("the store is busy"), KeyError("seq")])
def test_a_suite_that_fails_in_a_schedule_leaves_no_verdict(
    failure: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = Execution.run

    def failing(self: Execution) -> Any:
        if self._program.id.endswith("recover-dispatching") and not self._record:
            raise failure
        return execute(self)

    monkeypatch.setattr(Execution, "run", failing)
    report = quick(tmp_path, monkeypatch)
    assert (report.verdict.verdict, report.verdict.exit) == ("none", 5)
    assert "the suite could not run mutation/recover-dispatching" in report.verdict.why
    assert report.tally.schedules == SCENARIOS, "the others ran"


def test_a_checker_that_fails_is_a_failure_of_the_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Any:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(outcome_module, "judged", broken)
    report = quick(tmp_path, monkeypatch)
    assert report.verdict.exit == 5
    assert "judging failed: ZeroDivisionError: division by zero (test_endings.py:" in report.verdict.why


@pytest.mark.parametrize(("problem", "exit"), [(DriverProblem("it is gone"), 3), (SuiteProblem("we are lost"), 5)])
def test_a_problem_after_the_schedules_keeps_what_was_judged(
    problem: Exception, exit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise problem

    monkeypatch.setattr(conformance.run._Run, "_investigate", failing)
    report = quick(tmp_path, monkeypatch)
    assert (report.tally.schedules, report.complete) == (SCENARIOS, False)
    assert (report.verdict.verdict, report.verdict.exit) == ("none", exit)
    assert str(problem) in text(report)


def test_an_interrupt_leaves_a_partial_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(interrupt_at=4)
    report = quick(tmp_path, monkeypatch, watch=watch)
    assert (report.footer["interrupted"], report.complete, report.tally.schedules) == (True, False, 4)
    assert report.verdict.exit == 4
    assert "this run was interrupted: the report is partial" in text(report)
    assert watch.ended == 1
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert [r["record"] for r in lines] == ["header", "plan", *["schedule"] * 4, "footer"]


def test_an_error_that_nobody_foresaw_still_closes_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise AssertionError("a bug")

    monkeypatch.setattr(conformance.run._Run, "_investigate", failing)
    with pytest.raises(AssertionError):
        quick(tmp_path, monkeypatch)
    assert read_run(tmp_path / "run.jsonl").footer["complete"] is False


def test_progress_tells_each_phase_once_and_a_step_for_each_schedule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch()
    report = quick(tmp_path, monkeypatch, watch=watch)
    assert watch.phases[:2] == ["recording mutation-host", f"mutation-host {SCENARIOS}"]
    assert watch.steps == report.tally.schedules == SCENARIOS
