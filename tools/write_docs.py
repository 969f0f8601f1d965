"""Writes what can be made: pages of families and field faults, examples and tables inside other pages and the README.

Run it after a change of spec/commands, of the protocol or of the reference: `python tools/write_docs.py`. With
`--check` it writes nothing and exits 1 if a page is not current.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from field_page import field_page  # noqa: E402
from lane_examples import lane_examples  # noqa: E402
from protocol_examples import examples  # noqa: E402

from conformance.kit.seam import POINT_CALLS  # noqa: E402
from conformance.remote.script import BEHAVIOURS  # noqa: E402
from statemachines.describe import commands_page  # noqa: E402
from statemachines.spec import Spec, load  # noqa: E402

DOCS = ROOT / "docs"
#: Pages that are written by hand around what is inserted into them.
PAGES = (DOCS / "driver-protocol.md", ROOT / "README.md")
_INSERT = re.compile(r"(<!-- (example|table): ([a-z-]+) -->\n).*?(<!-- /\2 -->)", re.DOTALL)

#: family -> command -> (caption, example); the page of the family shows them.
SHOWN: Mapping[str, Mapping[str, tuple[tuple[str, str], ...]]] = {
    "mutation-host": {
        "host.invoke": (
            ("A new attempt that the remote confirmed:", "invoke-applied"),
            ("The same key and request again, from another process: a replay.", "invoke-replay"),
            ("The answer of the remote was lost:", "invoke-unknown"),
            ("The same key with another request:", "invoke-conflict"),
            ("An operation without a key, refused by the remote:", "invoke-refused"),
            ("A caller that is not configured:", "invoke-denied"),
        ),
        "host.cancel": (("A cancel that came too late:", "cancel"),),
        "host.housekeep": (("Nothing was due:", "housekeep"),),
        "host.describe": (("In the reference:", "describe"),),
        "answers": (
            ("A keyed call, refused by the remote:", "refused-keyed"),
            ("A call that another process cancelled ahead of its gate:", "cancelled"),
            ("A replay of it:", "cancelled-replay"),
            ("A replay of an attempt that was killed as `Prepared`, and aborted by recovery:", "recovered"),
            ("The service deadline, ahead of the gate:", "deadline-ahead"),
            ("The service deadline, while the remote holds the request:", "deadline-behind"),
            ("The acknowledgement of the gate was lost, and the worker's own abort won:", "gate-lost"),
            ("A replay whose original was killed behind its gate, at the end of its wait:", "wait-over"),
            (
                "Recovery made the row `Indeterminate`, then the definite success came. The caller of that call:",
                "late-success",
            ),
            ("A replay of it:", "late-success-replay"),
        ),
        "recover": (("One attempt had been left `Dispatching` by a killed process:", "recover"),),
        "snapshot": (("After one keyed call that was applied:", "snapshot"),),
    },
}
SETTLE: Mapping[str, tuple[tuple[str, str], ...]] = {
    "lane.deliver": (
        ("Two rows of one source on a settled route:", "lane-deliver"),
        ("The same delivery again, by the other path:", "lane-deliver-again"),
    ),
    "lane.load_rows": (("Rows of an older version, one without an ordinal:", "lane-load-rows"),),
    "lane.claim": (("Before and after the window:", "lane-claim"),),
    "lane.input": (("The generation of that claim:", "lane-input"),),
    "lane.finish": (("A failure that is to be retried, and a success:", "lane-finish"),),
    "lane.replay": (("A dead row:", "lane-replay"),),
    "lane.metrics": (("Before and after the window:", "lane-metrics"),),
    "lane.normalize": (("The settled mode without and with a filter:", "lane-normalize"),),
    "recover": (("A lease had run out:", "lane-recover"),),
    "snapshot": (("After one execution of two rows:", "lane-snapshot"),),
}
#: behaviour of the remote -> what the client sees.
SEEN: Mapping[str, str] = {
    "success": "the definite success",
    "definite-refusal": "the definite refusal",
    "status": (
        "a complete answer with some other status, or 200 without `effect`; it proves nothing, whatever `effect` its"
        " body claims"
    ),
    "malformed": "a complete 200 whose body is no JSON",
    "partial": "fewer bytes than `Content-Length` says, then the end of the connection",
    "part-done": "a complete 200 that reports part of the work as done and part as failed",
    "hold": "nothing, until the suite releases the request with another behaviour, or kills the process",
    "late": "nothing, until the suite has moved time on; then a success",
    "hold-at-accept": "the connection is there, and nothing is read or answered; a kill here is ahead of any effect",
    "refuse-connection": "the connection is reset at once",
    "drop-before-read": "the connection is closed without an answer",
    "apply-then-drop": "the connection is closed without an answer, after the effect has happened",
}
_EFFECT = {
    "done": "yes",
    "none": "no",
    "part": "in part",
    "unknown": "nobody knows",
    "pending": "decided at the release",
}


def pages() -> dict[Path, str]:
    """Every page that is made, or has made parts, with its text."""
    found = {**examples(), **lane_examples()}
    spec = load()
    made: dict[Path, str] = {DOCS / "field.md": field_page()}
    for family in spec.commands.values():
        config = json.loads((ROOT / "spec" / "schema" / f"{family.config}.schema.json").read_text(encoding="utf-8"))
        shown = {
            cmd: [(caption, found[name]) for caption, name in rows]
            for cmd, rows in (SETTLE if family.id == "settle-lanes" else SHOWN.get(family.id, {})).items()
        }
        made[DOCS / f"commands-{family.id}.md"] = commands_page(spec, family, config, shown)
    inserts = {f"example {name}": f"```\n{text}\n```\n" for name, text in found.items()}
    inserts |= {
        "table point-calls": _point_calls(),
        "table behaviours": _behaviours(),
        "table standing": _standing(spec),
    }
    for page in PAGES:
        made[page] = _INSERT.sub(lambda m: f"{m[1]}{inserts[f'{m[2]} {m[3]}']}{m[4]}", page.read_text(encoding="utf-8"))
    return made


def _point_calls() -> str:
    actions = sorted({action for allowed in POINT_CALLS.values() for action in allowed})
    lines = [["call", *(f"`{a}`" for a in actions)], ["---"] * (len(actions) + 1)]
    lines += [[f"`{call}`", *("yes" if a in allowed else "" for a in actions)] for call, allowed in POINT_CALLS.items()]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _standing(spec: Spec) -> str:
    """How many obligations of each document are live, and what the others are."""
    counts = Counter((r.source, r.status) for r in spec.requirements.values())
    lines = [["protocol", "obligations", "live", "elsewhere", "not testable", "planned"], ["---"] * 6]
    for family in spec.commands.values():
        each = [counts[family.source, status] for status in ("live", "same-as", "not-testable", "planned")]
        lines.append([f"{family.title} (`{family.id}`)", str(sum(each)), *map(str, each)])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _behaviours() -> str:
    lines = [["behaviour", "request read", "effect", "what the client sees"], ["---"] * 4]
    lines += [
        [f"`{kind}`", "yes" if reads else "no", _EFFECT[effect], SEEN[kind]]
        for kind, (reads, effect, _) in BEHAVIOURS.items()
    ]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def main() -> int:
    """Write the pages, or only say which are not current."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is not current")
    args = parser.parse_args()
    stale = 0
    for page, text in pages().items():
        if page.is_file() and page.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if args.check:
            print(f"{page.relative_to(ROOT)} is not current; run python tools/write_docs.py")
        else:
            page.write_text(text, encoding="utf-8")
            print(f"wrote {page.relative_to(ROOT)}")
    return 1 if stale and args.check else 0


if __name__ == "__main__":
    sys.exit(main())
