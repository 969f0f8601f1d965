"""A specification that fits on a screen: every kind of file once."""

TINY = {
    "lifecycles/letter.yaml": """\
id: letter
title: A letter
source: source-settle
entity: letter
key: [id]
states:
  - {name: written, initial: true, meaning: not posted yet}
  - {name: posted, meaning: in the post}
  - {name: read, terminal: true, classification: applied, meaning: arrived}
  - {name: lost, terminal: true, classification: unknown, meaning: nobody knows}
fields:
  owner: {domain: [nobody, me, other], marks: [durable], meaning: who holds the pen}
  seen: {domain: [true, false], marks: [remote], predicate: true, meaning: the reader said so}
  stamps: {domain: [0, 1, 2], marks: [ghost], ceiling: 2, predicate: true, meaning: a counter}
transitions:
  - {trigger: write, source: null, dest: written, actor: me, set: {owner: me}, requirements: [AAA-001]}
  - {trigger: post, source: written, dest: posted, actor: me, when: {owner: me}, requirements: []}
  - {trigger: settle, source: posted, dest: read, actor: me, when: {seen: true}, requirements: []}
  - {trigger: give_up, source: posted, dest: lost, actor: me, when: {seen: {not: true}}, requirements: []}
never:
  - {source: read, dest: [written, posted], reason: it was read, requirements: []}
couplings:
  - {state: written, with: stamp, states: [bought], how: atomic}
  - {state: posted, with: stamp, states: [used], how: atomic}
  - {state: read, with: stamp, states: [used], how: recovery}
  - {state: lost, with: stamp, states: [used], how: recovery}
""",
    "lifecycles/stamp.yaml": """\
id: stamp
title: A stamp
source: source-settle
entity: stamp
key: [id]
states:
  - {name: bought, initial: true, meaning: not used}
  - {name: used, terminal: true, meaning: gone}
transitions:
  - {trigger: buy, source: null, dest: bought, actor: me, requirements: []}
  - {trigger: use, source: bought, dest: used, actor: me, requirements: []}
""",
    "procedures/office.yaml": """\
id: office
source: source-settle
procedures:
  - id: mail
    title: send one letter
    actor: me
    steps:
      - name: mail.look
        kind: read
        meaning: is there one
        outcomes: {yes: {then: mail.post}, no: {then: null}}
      - name: mail.post
        kind: durable
        meaning: into the box
        fires: [letter.write, letter.post]
        outcomes: {committed: {then: mail.send}, lost_ack: {then: null}}
      - name: mail.send
        kind: remote
        meaning: it travels
        outcomes:
          success: {then: mail.note, fires: [letter.settle]}
          indefinite: {then: mail.note, fires: [letter.give_up]}
      - name: mail.note
        kind: durable
        meaning: what became of it
        fires: [letter.settle, letter.give_up]
        outcomes: {committed: {then: null}, lost_ack: {then: null}}
""",
    "tables/weather.yaml": """\
id: weather
kind: decision
title: What to wear
source: source-settle
columns: {rain: [true, false], wind: [none, light, storm]}
decision: {wear: [coat, hat, nothing]}
rows:
  - {id: wet, when: {rain: true}, then: {wear: coat}, source_rows: [1]}
  - {id: windy, when: {rain: false, wind: [light, storm]}, then: {wear: hat}, source_rows: [2]}
  - {id: fine, when: {rain: false, wind: none}, then: {wear: nothing}}
""",
    "tables/faults.yaml": """\
id: faults
kind: list
title: Faults
members: [id, rung]
rows:
  - {id: fog, rung: L0}
  - {id: flood, rung: L2}
""",
    "tables/limits.yaml": """\
id: limits
kind: list
title: Limits
members: [id, value]
rows:
  - {id: weight_g, value: 20}
""",
    "requirements/AAA.yaml": """\
prefix: AAA
source: source-settle
requirements:
  - {id: AAA-001, profile: post, level: MUST, kind: invariant, status: live, core: true,
     statement: It holds., where: there, given: g, when: w, then: t, observable: black-box,
     faults: [fog], mutant: m,
     cells: [{id: c1, text: one, needs: [fog], rung: L0, evidence: [wire]},
             {id: c2, text: two, needs: [flood], rung: L2, evidence: [rows]}]}
  - {id: AAA-002, profile: post, level: MAY, kind: scope, status: same-as, same_as: AAA-001,
     statement: It also holds., where: there, given: g, when: w, then: t, observable: static,
     faults: [], mutant: m}
  - {id: AAA-003, profile: post, level: MAY, kind: scope, status: not-testable, reason: nothing to see,
     statement: It is said., where: there, given: g, when: w, then: t, observable: not-testable,
     faults: [], mutant: m}
""",
    "interpretations.yaml": """\
- id: which way
  source: source-settle
  where: there
  problem: It is not said.
  touches: [AAA-001]
  readings:
    - {id: left, text: left, status: taken, variant: turn_left}
    - {id: right, text: right, status: accepted, variant: turn_right}
    - {id: back, text: back, status: declarable, variant: turn_back, unreachable: [AAA-001/c2]}
  proposed: Left.
""",
    "profiles/post.yaml": """\
id: post
title: Post
source: source-settle
groups: [post]
rungs: {L0: wire, L1: rows, L2: all}
""",
    "commands/post.yaml": """\
id: post
source: mutation-profile
title: Post
about: Letters go out.
config: config.post
definitions:
  word: {type: string, minLength: 1}
commands:
  - name: post.send
    status: live
    rung: L0
    purpose: Send a letter.
    args: {type: object, required: [to], additionalProperties: false, properties: {to: {$ref: "#/$defs/word"}}}
    result: {type: object, required: [status], additionalProperties: false, properties: {status: {enum: [sent]}}}
recovery:
  purpose: Look for letters that were lost.
  result: {type: object, additionalProperties: false, properties: {found: {type: integer}}}
rows:
  - kind: letters
    key: [id]
    meaning: One row for each letter.
    columns:
      - {name: id, type: text, null: false, meaning: its number}
      - {name: state, type: state, of: letter, meaning: where it is}
""",
}
