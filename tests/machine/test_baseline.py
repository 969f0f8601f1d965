"""A baseline excuses a failure only as long as it is true: same failure, not mended, not expired, really judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.baseline import BaselineError, Entry, baseline_text, excuse, failing, read_baseline, shape
from conformance.verdict import JudgedCell, JudgedRequirement, Standing, Tally, conclude
from statemachines.spec import load

SHOWS = "the caller was told applied of # attempts"
DAY = "2027-01-31"


def standing(status: str, id_: str = "MUT-015", unmet: tuple[str, ...] = ()) -> Standing:
    cells = (JudgedCell("dropped", "L0", ()),)
    requirement = JudgedRequirement(id_, "mutation-attempt", "MUST", True, "…", "§4", "mutation-profile", cells)
    return Standing(requirement, status, {"dropped": 0 if unmet else 3}, 3, unmet)


def known(**changes: str) -> Entry:
    members = {"id": "MUT-015", "kind": "known-failure", "reason": "old client", "issue": "#7", "status": "fail"}
    return Entry(**{**members, "shows": SHOWS, "expires": DAY, **changes})


def complaint(found: list[Standing], entry: Entry, *, day: str = "2026-12-01", filtered: bool = False) -> list[str]:
    happened = {"MUT-015": "the caller was told applied of 2 attempts"}
    standings, complaints = excuse(found, [entry], happened, f"{day}T10:00:00+00:00", filtered)
    # An excuse that is not true changes no status.
    assert not complaints or [s.status for s in standings] == [s.status for s in found]
    return complaints


def test_a_failure_that_is_the_known_one_is_excused_and_makes_the_verdict_partial() -> None:
    standings, complaints = excuse(
        [standing("fail"), standing("pass", "MUT-009")],
        [known()],
        {"MUT-015": "the caller was told applied of 14 attempts"},
        "2026-12-01",
        False,
    )
    assert [s.status for s in standings] == ["known-failure", "pass"]
    assert complaints == []
    verdict = conclude(standings, Tally(), True, True, complaints)
    assert (verdict.verdict, verdict.exit) == ("partial", 0)


@pytest.mark.parametrize(
    ("found", "entry", "says"),
    [
        (standing("pass"), known(), "passes: take the entry out"),
        (standing("out-of-tier"), known(), "is out-of-tier: take the entry out"),
        (standing("fail", "MUT-009"), known(), "is not judged in this run"),
        (standing("unstable"), known(), "is unstable, while the baseline knows it as fail"),
        (standing("fail"), known(shows="two requests"), "in another way than the baseline knows"),
        (standing("fail"), known(expires="2026-11-30"), "was excused until 2026-11-30"),
    ],
    ids=["stale", "above the rung", "unmatched", "another status", "changed", "expired"],
)
def test_an_excuse_that_is_not_true_fails_the_run(found: Standing, entry: Entry, says: str) -> None:
    (sentence,) = complaint([found], entry)
    assert says in sentence
    verdict = conclude([found], Tally(), True, True, [sentence])
    assert (verdict.verdict, verdict.exit) == ("not conformant", 1)


def test_the_last_day_still_counts() -> None:
    assert complaint([standing("fail")], known(), day=DAY) == []


def test_a_filtered_run_says_nothing_about_what_it_left_out() -> None:
    assert complaint([standing("fail", "MUT-009")], known(), filtered=True) == []


def test_a_declared_gap_excuses_whatever_is_missing_but_not_a_pass() -> None:
    gap = Entry("MUT-015", "declared-gap", "no such client", "#9")
    standings, complaints = excuse([standing("uncovered", unmet=("dropped",))], [gap], {}, "2026-12-01", False)
    assert ([s.status for s in standings], complaints) == (["declared-gap"], [])
    assert "passes" in complaint([standing("pass")], gap)[0]


def test_what_a_run_shows_can_be_written_down_and_read_again(tmp_path: Path) -> None:
    found = [standing("fail"), standing("uncovered", "MUT-009", ("dropped",)), standing("pass", "MUT-011")]
    failures = list(failing(found, {"MUT-015": "the caller was told applied of 2 attempts"}))
    path = tmp_path / "baseline.yaml"
    path.write_text(baseline_text(failures, "old client", "#7", DAY))
    entries = read_baseline(path, load())
    assert [(e.id, e.status, e.shows) for e in entries] == [
        ("MUT-015", "fail", SHOWS),
        ("MUT-009", "uncovered", "never occurred: dropped"),
    ]
    assert [Entry.from_json(e.to_json()) for e in entries] == list(entries)


def test_ids_and_counts_are_no_part_of_a_failure() -> None:
    assert shape("attempt 0000a1 has 2 requests, at step 14") == shape("attempt 77f3 has 3 requests, at step 9")
    assert shape("the row was Prepared") != shape("the row was Aborted")


ENTRY = "known_failures:\n- {id: MUT-015, status: fail, shows: a, reason: b, issue: c, expires: 2027-01-01}\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file holds no data"),
        ("- MUT-015\n", "a baseline holds known_failures and declared_gaps"),
        ("known_failure: []\n", "a baseline holds known_failures and declared_gaps"),
        ("known_failures: MUT-015\n", ":1: known_failures is a list of entries"),
        ("known_failures: [MUT-015]\n", ":1: an entry is a mapping"),
        (ENTRY.replace(", reason: b", ""), ":2: it lacks reason"),
        (ENTRY.replace("reason: b", "reason: ''"), ":2: reason has to be a text"),
        (ENTRY.replace("issue: c", "issue: 12"), ":2: issue has to be a text"),
        (ENTRY.replace("MUT-015", "MUT-999"), ":2: MUT-999 is no requirement"),
        (ENTRY.replace("status: fail", "status: pass"), ":2: status 'pass' is none of"),
        (ENTRY.replace("2027-01-01", "next year"), ":2: expires 'next year' is no day"),
        (ENTRY.replace("issue: c", "isue: c, issue: c"), "nothing here is called isue"),
        (ENTRY + ENTRY.partition("\n")[2], "MUT-015 has two entries"),
        (ENTRY + "\tx: 1\n", "a tab stands here"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "b.yaml"
    path.write_text(text)
    with pytest.raises(BaselineError, match=r"b\.yaml") as refused:
        read_baseline(path, load())
    assert says in str(refused.value)
