"""What `run` and `doctor` make of drivers that are hostile or merely wrong: an exit code and one clear sentence."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Result

DRIVERS = Path(__file__).parent / "drivers"
NARROW = ("--only", "MUT-015", "--scenario", "mutation/invoke-unkeyed", "--budget", "quick", "--jobs", "1")


@dataclass(frozen=True, slots=True)
class Expected:
    """The exit codes of `run` and `doctor`, what both say (or the doctor alone), and the deadline in ms."""

    run: int
    doctor: int
    says: str
    deadline: int = 60_000
    doctor_says: str = ""


EXPECTED = {
    "no_such_driver": Expected(3, 3, "No such file or directory"),
    "exits_at_once": Expected(3, 3, "ended (exit status 1); awaited: hello (id 1)"),
    "banner": Expected(3, 3, "not JSON: Expecting value"),
    "wrong_id": Expected(3, 3, "it answers the id 101, but awaited is hello (id 1)"),
    "wrong_shape": Expected(3, 1, "the result of command 'host.invoke'"),
    "bad_utf8": Expected(3, 3, "not UTF-8 at byte"),
    "long_line": Expected(3, 3, "a line is longer than 4194304 bytes"),
    "never_answers": Expected(3, 3, "gave no answer within 400 ms", 400),
    "silent_command": Expected(3, 1, "gave no answer within 3000 ms", 3000, "gave no answer in time and was killed"),
    "answers_twice": Expected(3, 3, "was a request answered twice?"),
    "forks_and_dies": Expected(3, 3, "it left a child behind that holds its stdout"),
    "deep_answer": Expected(3, 3, "JSON nested too deeply"),
    "same_member_twice": Expected(3, 3, "an object has the member 'outcome' twice"),
    "dies_at_work": Expected(3, 1, "ended (exit status 70); awaited: command 'host.invoke'"),
    "copies_answers": Expected(3, 1, "the result of command 'host.", 60_000, "does not exist was answered done"),
}


def command(name: str) -> str:
    """The command line of a hostile driver."""
    return f"{sys.executable} {DRIVERS / f'{name}.py'}"


def decent(result: Result) -> str:
    """Everything that was printed: no traceback of the suite, and nothing that rules a terminal."""
    page = result.out + result.err
    assert "the suite itself failed" not in page
    assert "Traceback" not in page
    assert not {c for c in page if ord(c) < 32 and c != "\n"}
    return page


@pytest.mark.parametrize("name", EXPECTED)
def test_a_run(cli: Cli, name: str) -> None:
    expected = EXPECTED[name]
    result = cli("run", "--driver", command(name), "--deadline", str(expected.deadline), *NARROW)
    page = decent(result)
    assert result.code == expected.run, page
    assert expected.says in page, page


@pytest.mark.parametrize("name", EXPECTED)
def test_the_doctor(cli: Cli, name: str) -> None:
    expected = EXPECTED[name]
    result = cli("doctor", "--driver", command(name), "--deadline", str(expected.deadline))
    page = decent(result)
    assert result.code == expected.doctor, page
    assert (expected.doctor_says or expected.says) in page, page
    assert result.err == ""


def test_an_endless_wait_is_never_needed_to_see_that_a_driver_has_ended(cli: Cli) -> None:
    # With the longest deadline: the end of the process is the news, not the end of patience.
    result = cli("run", "--driver", command("forks_and_dies"), "--deadline", "3600000", *NARROW)
    assert result.code == 3
    assert "ended (exit status 0)" in result.err


def test_a_flood_on_stderr_is_nobodys_fault(cli: Cli) -> None:
    assert cli("run", "--driver", command("floods_stderr"), *NARROW).code in (0, 4)
    result = cli("doctor", "--driver", command("floods_stderr"))
    assert result.code == 0, result.page


def test_slowness_is_no_fault(cli: Cli) -> None:
    result = cli("doctor", "--driver", command("slow"))
    assert result.code == 0, result.page


def test_whoever_ignores_its_end_is_ended(cli: Cli) -> None:
    result = cli("doctor", "--driver", command("ignores_sigterm"), "--deadline", "3000")
    assert result.code == 1, result.page
    assert "mend: process 'hello' answered bye and still ran 2000 ms later; exit with 0 after that answer" in result.out


def test_a_helper_in_a_session_of_its_own_does_not_outlive_the_command(cli: Cli) -> None:
    result = cli("doctor", "--driver", command("daemon"))
    assert result.code == 1, result.page
    assert "outlived the driver: children stay in its process group" in result.out
    run = cli("run", "--driver", command("daemon"), *NARROW)
    assert "of the driver's processes outlived it and were ended; `onceproof doctor` says more" in run.err


def test_state_outside_of_its_directory_is_seen(cli: Cli) -> None:
    result = cli("doctor", "--driver", command("leaves_state_dir"))
    assert result.code == 1, result.page
    assert "it sees something of the first; keep all state in state_dir" in result.out
    assert "remark: new in the working directory: host.db" in result.out


@pytest.mark.parametrize("name", ["lies_in_hello", "claims_points"])
def test_a_rung_that_is_only_claimed(cli: Cli, name: str) -> None:
    result = cli("doctor", "--driver", command(name), "--format", "json")
    report = json.loads(result.out)
    assert (result.code, report["declared"], report["reached"]) == (1, "L2", "L0")
    said = {c["id"]: " ".join(c["mend"]) for c in report["checks"] if c["mend"]}
    assert "was answered unsupported" in said["snapshot"]


def test_a_run_at_a_rung_that_is_only_claimed_passes_nothing(cli: Cli) -> None:
    result = cli("run", "--driver", command("lies_in_hello"), *NARROW)
    assert result.code in (1, 3, 4), result.page


def test_a_name_is_shown_and_never_obeyed(cli: Cli, tmp_path: Path) -> None:
    for result in (
        cli("doctor", "--driver", command("sly_name")),
        cli("talk", "--driver", command("sly_name")),
        cli("run", "--driver", command("sly_name"), *NARROW),
    ):
        assert "1b]0;owned" in decent(result)
        assert "\u202e" not in result.out
    assert "fit for L2" not in (tmp_path / "runs" / "latest" / "report.json").read_text().split("\n")


def test_what_was_found_before_a_driver_breaks_is_kept(cli: Cli, tmp_path: Path) -> None:
    result = cli("run", "--driver", command("breaks_late"), *NARROW[:-4], "--jobs", "1")
    page = decent(result)
    assert result.code == 3, page
    assert "not JSON" in page
    kept = [json.loads(line) for line in (tmp_path / "runs" / "latest" / "run.jsonl").read_text().splitlines()]
    assert [r["record"] for r in kept][:2] == ["header", "plan"]
    assert kept[-1]["record"] == "footer"
    assert any(r["record"] == "schedule" and r["problem"] is None for r in kept)
    assert (tmp_path / "runs" / "latest" / "report.json").is_file()
