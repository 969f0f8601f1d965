"""`onceproof doctor` as a user sees it."""

from __future__ import annotations

import json

import pytest

from conformance.families import FAMILIES
from tests.cli.conftest import Cli
from tests.conftest import Snapshot


def test_a_driver_that_is_fit(cli: Cli, snapshot: Snapshot) -> None:
    snapshot("doctor", cli("doctor", "--driver", "reference", "--family", "mutation-host").page)


def test_the_page_of_help(cli: Cli, snapshot: Snapshot) -> None:
    snapshot("help_doctor", cli("doctor", "--help").page)
    snapshot("help_init", cli("init", "--help").page)


def test_what_a_program_reads(cli: Cli) -> None:
    result = cli("doctor", "--driver", "reference", "--family", "settle-lanes", "--format", "json")
    report = json.loads(result.out)
    assert (result.code, result.err) == (0, "")
    assert (report["format"], report["fit"], report["declared"], report["reached"]) == (1, True, "L2", "L2")
    assert {c["family"] for c in report["checks"]} == {None, "settle-lanes"}
    assert {c["status"] for c in report["checks"]} == {"ok"}


def test_a_planted_fault_of_the_implementation_is_no_fault_of_the_driver(cli: Cli) -> None:
    result = cli("doctor", "--driver", "reference+client-retries", "--family", "mutation-host")
    assert result.code == 0, result.page


def test_a_family_that_was_asked_for_and_is_not_offered(cli: Cli) -> None:
    result = cli("doctor", "--driver", "reference", "--family", "lanes")
    assert (result.code, result.err) == (
        2,
        f"onceproof: --family lanes: this suite knows {', '.join(FAMILIES)}\n",
    )


@pytest.mark.parametrize(("driver", "words"), [("", "--driver is empty"), ("reference+nothing", "no deviation")])
def test_a_driver_that_cannot_be_meant(cli: Cli, driver: str, words: str) -> None:
    result = cli("doctor", "--driver", driver)
    assert result.code == 2
    assert words in result.err
