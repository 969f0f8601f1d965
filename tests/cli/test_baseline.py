"""Known failures from the command line: written from a run, excused in the next, complained of when they are mended."""

from __future__ import annotations

from tests.cli.conftest import Cli

NARROW = ("--profile", "mutation-host", "--jobs", "1", "--scenario", "mutation/invoke-*")
WHY = ("--reason", "old gate", "--issue", "#12", "--expires", "2099-12-31")


def test_a_narrowed_run_is_no_ground_for_a_baseline(cli: Cli) -> None:
    cli("run", "--driver", "reference+reread-and-send", *NARROW)
    refused = cli("baseline", "runs/latest/run.jsonl", *WHY)
    assert refused.code == 2
    assert "a baseline needs one without --only and --scenario" in refused.err


def test_a_day_that_is_none_and_a_missing_record_are_refused(cli: Cli) -> None:
    assert "is no day" in cli("baseline", "run.jsonl", *WHY[:-1], "soon").err
    assert "No such file" in cli("baseline", "run.jsonl", *WHY).err
    assert "say something" in cli("baseline", "run.jsonl", "--reason", " ", *WHY[2:]).err


def test_a_run_refuses_a_baseline_that_it_cannot_read(cli: Cli) -> None:
    refused = cli("run", *NARROW, "--baseline", "none.yaml")
    assert refused.code == 2
    assert "none.yaml:1:1: file-unreadable" in refused.err


def test_an_excused_failure_is_named_with_its_reason_and_makes_no_claim(cli: Cli) -> None:
    (cli("list").folder / "b.yaml").write_text(
        "known_failures:\n"
        "- {id: MUT-011, status: fail, shows: '# connected to the remote afterwards', reason: old gate,\n"
        "   issue: '#12', expires: 2099-12-31}\n"
        "- {id: MUT-015, status: fail, shows: a, reason: b, issue: c, expires: 2099-12-31}\n"
    )
    page = cli("run", "--driver", "reference+reread-and-send", *NARROW, "--baseline", "b.yaml").page
    assert "known-failure MUT-011" in page
    assert "excused: MUT-011 (old gate; #12, until 2099-12-31)" in page
    assert "BASELINE: MUT-015" in page
    assert "this run had a baseline, so it claims nothing" in page
