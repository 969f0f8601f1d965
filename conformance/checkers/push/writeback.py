"""Link and attempt in one commit, the mirror only afterwards (POST-031, MIRROR-003)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.push.index import Index, Record, attempts, links
from conformance.checkers.push.registry import CHECKERS
from conformance.checkers.timeline import Command, Look

FINALIZE = ("remote_link", None, "finalized")
#: An attempt in one of these cannot stand beside its own link.
_BEFORE = frozenset({"pending", "processing", "post_sent", "ambiguous_remote_effect"})
_AFTER = frozenset({"writeback_pending", "finalized"})


@CHECKERS.checker("POST-031", "suite", "rows")
def link_and_attempt_move_together(index: Index) -> Iterator[Finding]:
    """In no snapshot is there a finalized link whose attempt lags behind, nor an attempt past its link."""
    for fault in index.faults:
        if fault.action == "crash" and any(source == "ambiguous_remote_effect" for _, source, _ in fault.changes):
            yield Met("reconciled")
        if FINALIZE not in fault.changes:
            continue
        if fault.action == "crash":
            committed = fault.point.endswith(":committed")
            yield Met("crash-after-commit" if committed else "crash-before-commit")
            if not committed and fault.command is not None and _was_staged(index, fault.command):
                yield Met("resumed")
        elif fault.action == "lose-ack":
            yield Met(f"lost-{str(fault.world).replace('_', '-')}")
    reconciled = {m.id for m in index.moves if m.entity == "create_attempt" and m.source == "ambiguous_remote_effect"}
    for look in index.looks:
        for violation in _apart(index, look, reconciled):
            yield violation
            return


def _was_staged(index: Index, command: Command) -> bool:
    """Whether a command found an attempt whose id an earlier one had left staged."""
    found = attempts(index.look_before(command.seq))
    return any(
        row["state"] == "writeback_commit_pending" and index.concerns(command, (row["object"], row["record"]))
        for row in found
    )


def _apart(index: Index, look: Look, reconciled: set[str]) -> Iterator[Violation]:
    linked = {row["link_key"] for row in links(look)}
    # An id that belongs to another record leaves its attempt without a link for good.
    told = Counter(index.locator(row) for row in attempts(look) if row["remote_id"] is not None)
    owned = {index.locator(row) for row in links(look)} | {locator for locator, n in told.items() if n > 1}
    rows = {row["attempt"]: row for row in attempts(look)}
    for link in links(look):
        attempt = rows.get(link["attempt"])
        if attempt is not None and attempt["state"] in _BEFORE:
            yield Violation(
                f"link {link['link'][-6:]} and attempt {attempt['attempt'][-6:]} taken on in one commit",
                f"the link is {link['state']} and the attempt still {attempt['state']}",
                look.seq,
                "rows",
            )
    for attempt in rows.values():
        alone = attempt["state"] in _AFTER and attempt["link_key"] not in linked
        # Behind a reconciliation the link may come with the next claim, but nothing is finalized without it.
        waits = attempt["attempt"] in reconciled and attempt["state"] != "finalized"
        if alone and not waits and index.locator(attempt) not in owned:
            yield Violation(
                f"a link beside attempt {attempt['attempt'][-6:]}, which is {attempt['state']}",
                "there is none in the rows",
                look.seq,
                "rows",
            )


@CHECKERS.checker("MIRROR-003", "suite", "answer", "rows")
def mirror_comes_after_the_link(index: Index) -> Iterator[Finding]:
    """In no snapshot does a record carry its mirror before its link is there."""
    for fault, command in index.crashes:
        look = index.look_after(fault.seq)
        for row in attempts(look) if FINALIZE in fault.changes else ():
            record = (row["object"], row["record"])
            if row["remote_id"] is None or not index.concerns(command, record):
                continue
            if not fault.point.endswith(":committed"):
                yield Met("crash-before-link")
            elif links(look, record) and not any(_mirror(index, look, record).values()):
                yield Met("crash-after-link")
    for look in index.looks:
        for row in look.kinds.get("records", ()):
            record = (row["object"], row["id"])
            users = index.written_values(record)
            filled = {n: v for n, v in _mirror(index, look, record).items() if v and (n, v) not in users}
            if filled and not links(look, record):
                yield Violation(
                    f"the mirror on record {row['id']} empty until its link is finalized",
                    f"it carries {', '.join(f'{k} {v}' for k, v in filled.items())} and there is no link",
                    look.seq,
                    "rows",
                )
                return


def _mirror(index: Index, look: Look | None, record: Record) -> Mapping[str, Any]:
    """The compatibility pair of a record, by field name."""
    config = index.config_at(look.seq) if look else {"packs": ()}
    pairs = [
        action["mirror"]
        for pack in config["packs"]
        for action in pack["actions"]
        if action["source_object"] == record[0] and action["mirror"]
    ]
    rows = look.kinds.get("records", ()) if look else ()
    fields: Mapping[str, Any] = next((r["fields"] for r in rows if (r["object"], r["id"]) == record), {})
    return {name: fields.get(name) for pair in pairs for name in pair.values()}
