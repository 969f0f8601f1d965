"""Loading: what the specification holds, that its digest means content, and that faults come all at once."""

from __future__ import annotations

import dataclasses
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from statemachines import layout
from statemachines.source_map import parse
from statemachines.sources import Sources
from statemachines.spec import Spec, SpecError, from_documents, load

Write = Callable[..., Path]


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load()


def test_every_obligation_of_the_three_sources_is_there(spec: Spec) -> None:
    count = Counter(item.source for item in spec.requirements.values())
    assert count == {"mutation-profile": 620, "connector-push": 473, "source-settle": 132}
    assert sum(item.core for item in spec.requirements.values()) == 268
    assert sum(item.status == "same-as" for item in spec.requirements.values()) == 200


def test_not_testable_always_says_why(spec: Spec) -> None:
    hidden = [item for item in spec.requirements.values() if item.status == "not-testable"]
    assert len(hidden) == 44
    assert all(item.reason for item in hidden)


def test_the_attempt_has_exactly_these_edges(spec: Spec) -> None:
    attempt = spec.lifecycles["mutation_attempt"]
    assert attempt.initial == "Prepared"
    assert attempt.terminal == {"Completed", "Failed", "Indeterminate", "Aborted"}
    assert attempt.edges == {
        (None, "Prepared"),
        (None, "Indeterminate"),
        ("Prepared", "Dispatching"),
        ("Prepared", "Aborted"),
        ("Dispatching", "Completed"),
        ("Dispatching", "Failed"),
        ("Dispatching", "Indeterminate"),
    }


@pytest.mark.parametrize("name", ["mutation_attempt", "key_reservation"])
def test_every_move_between_two_states_is_an_edge_or_named_as_forbidden(spec: Spec, name: str) -> None:
    lc = spec.lifecycles[name]
    moves = {(source, dest) for source in [None, *lc.states] for dest in lc.states if source != dest}
    assert moves - lc.edges == {pair for pair in lc.forbidden if pair[0] != pair[1] and pair[1] is not None}
    assert not lc.edges & lc.forbidden


def test_a_coupling_reads_from_both_sides(spec: Spec) -> None:
    attempt, key = spec.lifecycles["mutation_attempt"], spec.lifecycles["key_reservation"]
    assert key.beside("Quarantined", "mutation_attempt") == {"Indeterminate"}
    assert key.beside("Pending", "mutation_attempt", atomic_only=True) == {"Prepared", "Dispatching"}
    assert attempt.beside("Indeterminate", "key_reservation") == {"Quarantined", "Pending"}
    for state in attempt.states:
        for other in key.states:
            assert (other in attempt.beside(state, key.id)) == (state in key.beside(other, attempt.id))


def test_profiles_split_into_core_and_extended(spec: Spec) -> None:
    total = {item.id for item in spec.requirements.values()}
    assert {i for p in spec.profiles.values() for i in (*p.core, *p.extended)} == total
    assert len(spec.profiles["mutation-host"].core) == 124
    assert "MUT-011" in {*spec.profiles["mutation-host"].core, *spec.profiles["mutation-host"].extended}


def test_limits_are_integers_by_id(spec: Spec) -> None:
    assert spec.limits["replay_retention_s"] == 86400
    assert spec.limits["request_bytes"] == 64 * 1024
    assert spec.limits["max_waiters"] == 4


def test_each_interpretation_takes_one_reading(spec: Spec) -> None:
    taken = {name: item.taken.id for name, item in spec.interpretations.items() if item.taken}
    assert len(taken) == len(spec.interpretations) >= 175
    assert taken["live-worker-and-recovery"] == "recover-any-time-fenced"
    assert taken["deadline-settlement-timing"] == "settle-at-deadline"
    assert taken["expired-state-representation"] == "row-kept"
    assert taken["abort-failure-classification"] == "not-attempted"


def test_nothing_in_a_specification_can_be_changed(spec: Spec) -> None:
    with pytest.raises(TypeError):
        spec.requirements["MUT-001"] = None  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.requirements["MUT-001"].level = "MAY"  # type: ignore[misc]
    with pytest.raises(TypeError):
        spec.tables["mutation_outcome"].rows[0].then["possible"] = False  # type: ignore[index]


def test_it_is_read_once_per_folder(write: Write) -> None:
    root = write()
    assert load(root) is load(root)
    assert load(root) is not load()


def test_the_environment_names_another_specification(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(layout.ENVIRONMENT, str(write()))
    assert set(load().lifecycles) == {"letter", "stamp"}


def test_the_digest_ignores_files_and_formatting_and_sees_content(write: Write) -> None:
    root = write()
    before = from_documents(Sources.read(root).documents).digest
    text = (root / "tables/limits.yaml").read_text()
    (root / "tables/limits.yaml").write_text(
        "# a remark\n" + text.replace("{id: weight_g, value: 20}", "id: weight_g\n    value: 20")
    )
    parts = (root / "interpretations.yaml").read_text()
    (root / "interpretations").mkdir()
    (root / "interpretations/roads.yaml").write_text(parts)
    (root / "interpretations.yaml").unlink()
    assert from_documents(Sources.read(root).documents).digest == before
    (root / "tables/limits.yaml").write_text(text.replace("20", "21"))
    assert from_documents(Sources.read(root).documents).digest != before


def test_all_faults_of_all_files_come_at_once(write: Write) -> None:
    root = write(
        ("lifecycles/stamp.yaml", "id: stamp", "id: 7"),
        ("lifecycles/letter.yaml", "key: [id]", "key: [id]\ncolour: red"),
        ("tables/weather.yaml", "kind: decision", "kind: decision\nkind: list"),
        ("profiles/post.yaml", "groups: [post]", "groups: [post"),
        ("requirements/AAA.yaml", "level: MUST,", "level: MUSTN,"),
    )
    with pytest.raises(SpecError) as caught:
        load(root)
    assert [(f.file, f.line, f.column, f.rule) for f in caught.value.findings] == [
        ("lifecycles/letter.yaml", 6, 1, "schema-unknown-member"),
        ("lifecycles/stamp.yaml", 1, 5, "schema-type"),
        ("profiles/post.yaml", 5, 6, "yaml-syntax"),
        ("requirements/AAA.yaml", 4, 41, "schema-enum"),
        ("tables/weather.yaml", 3, 1, "yaml-duplicate-key"),
    ]
    assert "did you mean 'MUST'?" in str(caught.value)


def test_an_id_that_is_given_twice_names_both_places(write: Write) -> None:
    root = write(("requirements/AAA.yaml", "id: AAA-003", "id: AAA-001"))
    with pytest.raises(
        SpecError, match=r"AAA.yaml:12:10: spec-duplicate-id: .*already in requirements/AAA.yaml, line 4"
    ):
        load(root)


def test_a_missing_member_and_a_wrong_branch_are_said_plainly(write: Write) -> None:
    root = write(
        ("lifecycles/letter.yaml", "when: {owner: me}", "when: {owner: {nor: me}}"),
        ("requirements/AAA.yaml", "where: there, given: g, when: w, then: t, observable: black-box",
         "given: g, when: w, then: t, observable: black-box"),
    )  # fmt: skip
    found = [finding.message for finding in Sources.read(root).findings]
    assert "transitions[1].when.owner has no member 'nor'" in found
    assert "requirements[0] lacks the member 'where'" in found


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_folder_without_a_specification_is_said_to_be_none(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SpecError, match=r"does not exist|no part of a specification"):
        load(tmp_path / name)


def test_yaml_sources_and_the_loaded_values_agree(spec: Spec) -> None:
    root = layout.default_root()
    document, findings = parse((root / "requirements/MUT.yaml").read_bytes(), "MUT")
    assert not findings
    assert document is not None
    for raw in document.data["requirements"]:  # type: ignore[call-overload, index]
        assert spec.requirements[raw["id"]].statement == raw["statement"]


def test_a_copy_of_the_specification_is_equal(tmp_path: Path, spec: Spec) -> None:
    shutil.copytree(layout.default_root(), tmp_path / "copy")
    assert load(tmp_path / "copy") == spec


def test_a_profile_knows_its_prefixes(spec: Spec) -> None:
    assert set(spec.profiles["source-settle"].prefixes) == {"SETTLE", "GEN", "SCOPE"}
    assert set(spec.profiles["lane-order"].prefixes) == {"ORDER"}
