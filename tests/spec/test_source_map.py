"""YAML that a friend or an enemy might write: each refusal has a place, and nothing else ever happens."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from statemachines.layout import default_root
from statemachines.source_map import MAX_BYTES, parse, read

# text, rule, line, column
REFUSED = [
    ("a: 1\n\tb: 2", "yaml-tab", 2, 1),
    ("a: 'x\ty'", "yaml-tab", 1, 6),
    ("a: 1\nb: 2\na: 3", "yaml-duplicate-key", 3, 1),
    ("a: {b: 1, b: 2}", "yaml-duplicate-key", 1, 11),
    ("a: &x 1", "yaml-alias", 1, 4),
    ("a: 1\nb: *x", "yaml-alias", 2, 4),
    ("<<: *x", "yaml-alias", 1, 5),
    ("[" * 65 + "]" * 65, "yaml-too-deep", 1, 65),
    ("[" * 100_000, "yaml-syntax", 1, 1001),
    ("a: !!python/object:os.system x", "yaml-tag", 1, 4),
    ("a: !secret x", "yaml-tag", 1, 4),
    ("? [a, b]\n: c", "yaml-key", 1, 3),
    ("a: !!int x", "yaml-value", 1, 4),
    ("a: 1\nb: [1, 2", "yaml-syntax", 3, 1),
    ("a: b: c", "yaml-syntax", 1, 5),
    ("a: 'open", "yaml-syntax", 1, 9),
    ("a: 1\n---\nb: 2", "yaml-syntax", 2, 1),
    ("", "yaml-empty", 1, 1),
    ("# nothing\n", "yaml-empty", 1, 1),
    ("a: 1\nb: \x07", "yaml-syntax", 2, 4),
]


@pytest.mark.parametrize(("text", "rule", "line", "column"), REFUSED)
def test_a_refusal_names_its_place(text: str, rule: str, line: int, column: int) -> None:
    _, findings = parse(text.encode(), "f.yaml")
    assert (findings[0].rule, findings[0].line, findings[0].column) == (rule, line, column)
    assert "\n" not in str(findings[0])


def test_text_that_is_not_utf8_names_the_byte() -> None:
    _, (finding,) = parse(b"a: 1\nb: \xff", "f.yaml")
    assert (finding.rule, finding.line, finding.column) == ("yaml-encoding", 2, 4)


def test_a_billion_laughs_costs_nothing() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    document, findings = parse("\n".join(lines).encode(), "f.yaml")
    assert document is None
    assert len(findings) == 60 + 2 * 59


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    assert read(path, "big.yaml")[1][0].rule == "yaml-too-large"
    assert read(tmp_path / "absent.yaml", "absent.yaml")[1][0].rule == "file-unreadable"


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("false", False), ("null", None), ("~", None), ("", None), ("12", 12), ("-3", -3),
     ("0", 0), ("1.50", 1.5), ("yes", "yes"), ("on", "on"), ("No", "No"), ("012", "012"), ("0x1f", "0x1f"),
     ("1e3", "1e3"), ("1_000", "1_000"), ("2026-01-01", "2026-01-01"), ("12:30", "12:30"), ("'5'", "5"),
     ("a & b", "a & b"), ("'*'", "*"), ("=", "="), ("<<", "<<"), ("True", "True")],
)  # fmt: skip
def test_plain_values_mean_what_yaml_1_2_says(text: str, value: object) -> None:
    document, findings = parse(f"a: {text}".encode(), "f.yaml")
    assert not findings
    assert document is not None
    assert document.data == {"a": value}
    assert type(document.data["a"]) is type(value)  # type: ignore[index]


def test_places_of_values_keys_and_absent_members() -> None:
    document, _ = parse(b"a: 1\nb:\n  - x: 1\n    yy: [2, 3]\n", "f.yaml")
    assert document is not None
    assert document.at(["b", 0, "yy", 1]) == (4, 13)
    assert document.at(["b", 0, "yy"], key=True) == (4, 5)
    assert document.at(["b", 0, "absent"]) == (3, 5)
    assert document.at(["b", 7]) == (3, 3)
    assert document.at() == (1, 1)


SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(string.printable, max_size=12)
DATA = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(string.ascii_letters, min_size=1, max_size=6), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(st.dictionaries(st.text(string.ascii_letters, min_size=1, max_size=6), DATA, max_size=5))
@settings(max_examples=150, deadline=None, derandomize=True, database=None)
def test_what_is_dumped_is_read_back(data: dict[str, object]) -> None:
    text = yaml.safe_dump(data, allow_unicode=True)
    document, findings = parse(text.encode(), "f.yaml")
    assert not findings
    assert document is not None
    assert document.data == data


@given(st.text(alphabet=string.printable + "é\u2028\ufeff", max_size=80))
@settings(max_examples=400, deadline=None, derandomize=True, database=None)
def test_any_text_is_data_or_a_finding_with_a_place(text: str) -> None:
    document, findings = parse(text.encode(), "f.yaml")
    assert (document is not None) or findings
    assert all(finding.line >= 1 and finding.column >= 1 and finding.message for finding in findings)


@given(st.binary(max_size=60))
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_any_bytes_are_data_or_a_finding(raw: bytes) -> None:
    document, findings = parse(raw, "f.yaml")
    assert (document is not None) or findings


REAL = (default_root() / "lifecycles/mutation_attempt.yaml").read_text(encoding="utf-8")


@given(
    st.integers(0, len(REAL) - 1),
    st.sampled_from(["", "\n", ":", "- ", "{", "]", "'", "&a ", "\t", "#", "!x "]),
    st.integers(0, 9),
)
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_a_slip_of_the_pen_in_a_real_file_is_data_or_a_finding(place: int, insert: str, cut: int) -> None:
    text = REAL[:place] + insert + REAL[place + cut :]
    document, findings = parse(text.encode(), "f.yaml")
    assert (document is not None) or findings
    assert all(1 <= finding.line <= text.count("\n") + 2 for finding in findings)
