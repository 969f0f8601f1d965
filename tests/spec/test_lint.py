"""Each rule is triggered by the smallest change to a sound specification, and by nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from statemachines.lint import lint, lint_rules

Write = Callable[..., Path]

LETTER, OFFICE, WEATHER = "lifecycles/letter.yaml", "procedures/office.yaml", "tables/weather.yaml"
STAMP, AAA, READINGS = "lifecycles/stamp.yaml", "requirements/AAA.yaml", "interpretations.yaml"
COMMANDS = "commands/post.yaml"
FAULTS, LIMITS, POST = "tables/faults.yaml", "tables/limits.yaml", "profiles/post.yaml"

# rule, file, old text, new text, and a piece of the sentence
CASES = [
    ("file-name", STAMP, "id: stamp", "id: stamps", "the file is called stamp"),
    ("lifecycle-initial", STAMP, ", initial: true", "", "0 states are marked initial"),
    ("lifecycle-initial", LETTER, "posted, meaning", "posted, initial: true, meaning", "2 states"),
    ("lifecycle-duplicate-state", STAMP, "transitions:",
     "  - {name: used, terminal: true, meaning: x}\ntransitions:",
     "used stands here again"),
    ("lifecycle-unknown-state", LETTER, "dest: [written, posted]", "dest: [written, burnt]",
     "no state burnt"),
    ("lifecycle-unreachable", STAMP, "transitions:",
     "  - {name: torn, terminal: true, meaning: x}\ntransitions:",
     "nothing leads to torn"),
    ("lifecycle-trap", STAMP, "used, terminal: true,", "used,", "used has no exit"),
    ("lifecycle-terminal-exit", STAMP, "bought, initial: true", "bought, initial: true, terminal: true",
     "use leaves bought, which is terminal"),
    ("lifecycle-unknown-field", LETTER, "when: {owner: me}", "when: {owner: me, hand: left}",
     "no field hand"),
    ("lifecycle-domain", LETTER, "when: {owner: me}", "when: {owner: you}", "owner is never you"),
    ("lifecycle-dead-guard", LETTER, "seen: {domain: [true, false]", "seen: {domain: [true]",
     "give_up can never fire"),
    ("lifecycle-field-unwritten", LETTER, "[remote], predicate: true", "[remote]", "looks at seen"),
    ("lifecycle-owner", LETTER, "[nobody, me, other]", "[nobody, me, you]", "owner cannot be you"),
    ("lifecycle-ceiling", LETTER, "ceiling: 2", "ceiling: 3", "stamps is not 0 to 3"),
    ("lifecycle-overlap", LETTER, "never:",
     "  - {trigger: settle, source: posted, dest: lost, actor: me, requirements: []}\nnever:",
     "settle from posted leads to read and to lost at once"),
    ("lifecycle-never-edge", LETTER, "{source: read, dest: [written, posted]",
     "{source: posted, dest: [written, read]",
     "settle takes this very move"),
    ("coupling-unknown", LETTER, "states: [bought]", "states: [stolen]", "stamp has no state stolen"),
    ("coupling-unknown", LETTER, "written, with: stamp", "written, with: coin", "no lifecycle coin"),
    ("coupling-hole", LETTER, "  - {state: lost, with: stamp, states: [used], how: recovery}\n", "",
     "nothing is said about lost beside stamp"),
    ("procedure-step-name", OFFICE, "outcomes: {yes: {then: mail.post}, no: {then: null}}",
     "outcomes: {yes: {then: mail.post}, no: {then: post.wait}}\n"
     "      - {name: post.wait, kind: local, meaning: wait, outcomes: {done: {then: null}}}",
     "post.wait does not begin with mail."),
    ("procedure-unknown-step", OFFICE, "no: {then: null}", "no: {then: mail.wait}", "no step mail.wait"),
    ("procedure-unreachable-step", OFFICE, "      - name: mail.post",
     "      - {name: mail.sleep, kind: local, meaning: z, outcomes: {done: {then: null}}}\n"
     "      - name: mail.post",
     "nothing leads to mail.sleep"),
    ("procedure-lost-ack", OFFICE, "outcomes: {committed: {then: null}, lost_ack: {then: null}}",
     "outcomes: {committed: {then: null}}", "mail.note has no reaction"),
    ("procedure-indefinite-missing", OFFICE, "indefinite:", "refusal:",
     "no reaction to an indefinite answer"),
    ("procedure-indefinite-definite", OFFICE, "indefinite: {then: mail.note, fires: [letter.give_up]}",
     "indefinite: {then: mail.note, fires: [letter.settle]}", "letter.settle records applied"),
    ("procedure-blind-send", OFFICE, "committed: {then: mail.send}, lost_ack: {then: null}",
     "committed: {then: mail.send}, lost_ack: {then: mail.send}", "goes on to mail.send after lost_ack"),
    ("procedure-fires-kind", OFFICE, "        meaning: is there one",
     "        meaning: x\n        fires: [letter.post]",
     "mail.look is read and changes no row"),
    ("procedure-unknown-trigger", OFFICE, "fires: [letter.write, letter.post]",
     "fires: [letter.write, letter.post, letter.burn]", "no trigger letter.burn"),
    ("procedure-outcome-fires", OFFICE, "{then: mail.note, fires: [letter.settle]}",
     "{then: mail.note, fires: [letter.settle, letter.post]}", "mail.note does not fire letter.post"),
    ("procedure-unfired-trigger", OFFICE, "[letter.write, letter.post]", "[letter.write]",
     "no step fires letter.post"),
    ("table-hole", WEATHER, "wind: [light, storm]", "wind: [light]", "no row covers rain False, wind storm"),
    ("table-overlap", WEATHER, "wind: none", "wind: [none, light]", "fine overlaps windy"),
    ("table-duplicate-row", WEATHER, "id: fine", "id: wet", "wet stands here again"),
    ("table-condition", WEATHER, "wind: [light, storm]}", "wind: [light, storm, gale]}",
     "wind is never gale"),
    ("table-condition", WEATHER, "when: {rain: true}", "when: {rain: true, snow: true}", "no column snow"),
    ("table-decision", WEATHER, "{wear: hat}", "{wear: boots}", "wear is never boots"),
    ("table-decision", WEATHER, "{wear: hat}", "{wear: hat, carry: bag}", "carry is not declared"),
    ("table-decision", WEATHER, "decision: {wear: [coat, hat, nothing]}",
     "decision: {wear: [coat, hat, nothing], carry: [bag]}", "nothing is decided about carry"),
    ("table-members", FAULTS, "{id: fog, rung: L0}", "{id: fog, rung: L0, colour: grey}",
     "colour is not declared"),
    ("table-members", LIMITS, "members: [id, value]", "members: [id, value, unit]", "weight_g lacks unit"),
    ("limits-integer", LIMITS, "value: 20", "value: 20g", "weight_g is 20g"),
    ("requirement-unknown", LETTER, "[AAA-001]", "[AAA-009]", "no requirement AAA-009"),
    ("requirement-prefix", AAA, "id: AAA-003", "id: BBB-003", "BBB-003 stands in AAA.yaml"),
    ("requirement-profile", AAA, "AAA-003, profile: post", "AAA-003, profile: parcel", "in no profile"),
    ("requirement-same-as", AAA, "same_as: AAA-001", "same_as: AAA-004", "no requirement AAA-004"),
    ("requirement-same-as", AAA, "same_as: AAA-001", "same_as: AAA-002", "leads on to AAA-002"),
    ("requirement-same-as", AAA, "same_as: AAA-001", "same_as: AAA-003", "not testable itself"),
    ("requirement-same-as", AAA, "status: same-as, same_as: AAA-001", "status: same-as",
     "AAA-002 is same-as"),
    ("requirement-status", AAA, "status: live", "status: planned", "AAA-001 is planned and has cells"),
    ("requirement-status", AAA, "status: not-testable, reason: nothing to see", "status: not-testable",
     "without a reason"),
    ("requirement-fault", AAA, "faults: [fog]", "faults: [frog]", "no fault frog"),
    ("requirement-fault", AAA, "needs: [fog]", "needs: [frog]", "no fault frog"),
    ("cell-duplicate", AAA, "id: c2", "id: c1", "c1 stands here again"),
    ("cell-rung", AAA, "needs: [flood], rung: L2", "needs: [flood], rung: L1",
     "c2 stands at L1 and needs L2"),
    ("cell-rung", AAA, "evidence: [wire]", "evidence: [rows]", "c1 stands at L0 and needs L1"),
    ("profile-group", POST, "groups: [post]", "groups: [post, parcel]", "no requirement belongs to parcel"),
    ("interpretation-taken", READINGS, "status: taken", "status: accepted", "taken is none"),
    ("interpretation-taken", READINGS, "status: accepted", "status: taken", "taken is left, right"),
    ("interpretation-duplicate", READINGS, "id: right", "id: left", "left stands here more than once"),
    ("interpretation-touches", READINGS, "[AAA-001]", "[AAA-009]", "there is no requirement AAA-009"),
    ("reading-shown", READINGS, "variant: turn_right", "variant: null", "right is accepted and nothing shows it"),
    ("reading-unreachable", READINGS, "AAA-001/c2", "AAA-001/c3", "no requirement has the cell AAA-001/c3"),
    ("reading-unreachable", READINGS, "status: declarable", "status: rejected", "back is rejected"),
    ("command-schema", COMMANDS, "minLength: 1", "maxLength: 9", "'maxLength' is not supported"),
    ("command-schema", COMMANDS, "$ref: \"#/$defs/word\"", "$ref: \"#/$defs/wort\"", "leads out of this schema"),
    ("command-schema", COMMANDS, "{type: integer}", "{type: whole}", "is no JSON Schema"),
    ("command-open-result", COMMANDS, "required: [status], additionalProperties: false,", "required: [status],",
     "lets any member pass"),
    ("command-required", COMMANDS, "required: [to]", "required: [to, from]", "requires from, which it refuses"),
    ("command-duplicate", COMMANDS, "key: [id]", "key: [number]", "letters has no column number"),
    ("command-duplicate", COMMANDS, "{name: state, type: state, of: letter", "{name: id, type: state, of: letter",
     "id stands here 2 times"),
    ("command-lifecycle", COMMANDS, "of: letter", "of: parcel", "no lifecycle is called parcel"),
    ("command-lifecycle", COMMANDS, "type: state, of: letter", "type: state", "names no lifecycle"),
    ("command-lifecycle", COMMANDS, "type: text, null: false", "type: text, of: letter", "has no use for lifecycles"),
    ("command-file-name", COMMANDS, "id: post", "id: mail", "the family mail stands in commands/post.yaml"),
]  # fmt: skip

# Renaming a lifecycle also cuts the coupling that leads to it, renaming a cell what a reading says of it.
COMPANIONS = {
    ("file-name", STAMP): {"coupling-unknown"},
    ("cell-duplicate", AAA): {"reading-unreachable"},
}


def test_the_tiny_specification_is_sound(write: Write) -> None:
    assert lint(write()) == []


def test_the_real_specification_is_sound() -> None:
    assert lint() == []


@pytest.mark.parametrize("case", CASES, ids=[f"{rule}-{file}" for rule, file, *_ in CASES])
def test_a_rule_finds_its_fault_and_no_other_rule_does(write: Write, case: tuple[str, ...]) -> None:
    rule, file, old, new, words = case
    found = lint(write((file, old, new)))
    assert {finding.rule for finding in found} == {rule} | COMPANIONS.get((rule, file), set()), found
    mine = [finding for finding in found if finding.rule == rule]
    assert any(words in finding.message for finding in mine), mine
    assert all(finding.fix for finding in mine)


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, *_ in CASES} == set(lint_rules())


def test_a_finding_points_at_the_word_that_is_wrong(write: Write) -> None:
    root: Path = write((AAA, "needs: [fog]", "needs: [frog]"))
    (finding,) = lint(root)
    line = (root / AAA).read_text().splitlines()[finding.line - 1]
    assert line[finding.column - 1 :].startswith("frog")
    assert str(finding).startswith("requirements/AAA.yaml:7:")


def test_several_faults_come_in_one_pass(write: Write) -> None:
    root = write((STAMP, "used, terminal: true,", "used,"), (AAA, "faults: [fog]", "faults: [frog]"))
    assert [finding.rule for finding in lint(root)] == ["lifecycle-trap", "requirement-fault"]


def test_rules_that_look_across_files_rest_while_a_file_is_broken(write: Write) -> None:
    root = write((FAULTS, "kind: list", "kind: heap"), (STAMP, "used, terminal: true,", "used,"))
    rules = [finding.rule for finding in lint(root)]
    assert "lifecycle-trap" in rules
    assert "requirement-fault" not in rules
    assert any(rule.startswith("schema-") for rule in rules)


def test_a_prohibition_for_one_actor_forbids_the_edge_to_nobody_else(write: Write) -> None:
    never = "  - {source: written, dest: posted, actor: thief, reason: not his, requirements: []}\ncouplings:"
    assert lint(write((LETTER, "couplings:", never))) == []
