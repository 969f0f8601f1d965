"""The ledger: every durable move of attempts and links, as compare-and-set inside a given transaction.

Sources and destinations come from the lifecycle files. A worker's write names its claim token: a claim that was lost
changes nothing any more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.kit import Time
from reference_impl.connector.model import ATTEMPT_SQL, Action, Attempt, Raw, canonical_json
from reference_impl.store import Store, Transaction
from statemachines.model import Lifecycle

#: Any claim, or none: for moves that are fenced by something else.
ANY: Final = object()
#: The columns of a row that nobody holds.
FREE: Final[Mapping[str, Any]] = {"claim": None, "worker": None, "lease_expires_at": None}


class Ledger:
    """Reads and moves over the tables of :mod:`reference_impl.connector.schema`."""

    def __init__(self, store: Store, lifecycles: Mapping[str, Lifecycle]) -> None:
        self.store = store
        attempt = lifecycles["create_attempt"]
        known = _MOVES.get(id(attempt))
        if known is None:
            known = _MOVES[id(attempt)] = (attempt, _moves(attempt))
        self._moves = known[1]
        self._occupying = _texts(name for name, state in attempt.states.items() if state.occupies)

    # -- reads -------------------------------------------------------------------------------------------------

    def record(self, step: str, source_object: str, record: str) -> tuple[dict[str, Any], bool] | None:
        """(fields, deleted) of a local record, or None."""
        sql = "SELECT fields, deleted FROM records WHERE object = ? AND id = ?"
        rows = self.store.read(step, sql, (source_object, record))
        return (json.loads(rows[0][0]), bool(rows[0][1])) if rows else None

    def occupant(self, step: str, link_key: str) -> tuple[str, str, str] | None:
        """What holds a link key: (``link`` or ``attempt``, id, state); None when the key is free."""
        rows = self.store.read(step, self._occupant_sql(), (link_key, link_key))
        return (rows[0][0], rows[0][1], rows[0][2]) if rows else None

    def occupant_within(self, tx: Transaction, link_key: str) -> tuple[str, str, str] | None:
        """The same, inside a transaction: the authoritative check before a reservation."""
        rows = tx.query(self._occupant_sql(), (link_key, link_key))
        return (rows[0][0], rows[0][1], rows[0][2]) if rows else None

    def remote_id_of(self, step: str, link_key: str) -> str | None:
        """The remote id of a finalized link."""
        rows = self.store.read(
            step, "SELECT remote_id FROM links WHERE link_key = ? AND state = 'finalized'", (link_key,)
        )
        return str(rows[0][0]) if rows else None

    def attempt(self, step: str, attempt: str) -> Attempt:
        """One attempt by its id."""
        return Attempt.from_row(self.store.read(step, f"{ATTEMPT_SQL} WHERE attempt = ?", (attempt,))[0])

    def attempts_in(self, step: str, states: Sequence[str], lanes: Sequence[str]) -> list[Attempt]:
        """The attempts in these states and lanes, oldest first."""
        sql = f"{ATTEMPT_SQL} WHERE state IN ({_texts(states)}) AND lane IN ({_texts(lanes)}) ORDER BY rowid"
        return [Attempt.from_row(row) for row in self.store.read(step, sql)]

    # -- writes ------------------------------------------------------------------------------------------------

    def reserve(self, tx: Transaction, attempt: str, key: str, action: Action, columns: Raw) -> None:
        """Insert the pending attempt with everything that it freezes; ``columns`` hold the rest of the row."""
        ordinal = tx.query("SELECT COALESCE(MAX(ordinal), 0) + 1 FROM attempts WHERE link_key = ?", (key,))[0][0]
        values = {
            "attempt": attempt,
            "link_key": key,
            "object": action.raw["source_object"],
            "owner_key": action.pack["owner_key"],
            "action_slot": action.raw["slot"],
            "destination_slot": action.raw["destination_slot"],
            "state": "pending",
            "ordinal": ordinal,
            "path": action.raw["create_path"],
            "frozen": canonical_json(action.frozen()),
            "names": canonical_json(action.names()),
            "contract": canonical_json(action.contract()),
            "scope": action.profile["scope"],
            **columns,
        }
        marks = ", ".join("?" for _ in values)
        tx.execute(f"INSERT INTO attempts ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))

    def move(
        self, tx: Transaction, attempt: str, trigger: str, *, held_by: object = ANY, when: str = "", **values: Any
    ) -> bool:
        """Fire a trigger of ``create_attempt``, or make one of its writes in place; False when nothing was changed.

        ``held_by`` is the token that must be on the row (None: none may be); ``when`` is a further condition.
        """
        sources, dest = self._moves[trigger]
        sets = {**({"state": dest} if dest else {}), **values}
        fence, params = self.fence(held_by)
        sql = (
            f"UPDATE attempts SET {', '.join(f'{name} = ?' for name in sets)}"
            f" WHERE attempt = ? AND state IN ({_texts(sources)}){fence}{' AND ' + when if when else ''}"
        )
        return tx.execute(sql, (*sets.values(), attempt, *params)) == 1

    def owns(self, tx: Transaction, attempt: str, claim: str, state: str) -> bool:
        """Whether this claim is still on the row and the row still in this state."""
        fence, params = self.fence(claim)
        return bool(
            tx.query(f"SELECT 1 FROM attempts WHERE attempt = ? AND state = ?{fence}", (attempt, state, *params))
        )

    def fence(self, claim: object) -> tuple[str, tuple[object, ...]]:
        """The condition by which a write is bound to a claim."""
        return ("", ()) if claim is ANY else (" AND claim IS ?", (claim,))

    def locator_owner(self, tx: Transaction, attempt: Attempt, canonical: str) -> str | None:
        """Who holds a remote id in the scope of an attempt: another link, or another staged attempt."""
        scope = (attempt.frozen["owner_key"], attempt.destination_slot, attempt.contract["scope"], canonical)
        at = "owner_key = ? AND destination_slot = ? AND scope = ? AND canonical_id = ?"
        sql = (
            f"SELECT link FROM links WHERE {at} AND state <> 'retired' UNION ALL"
            f" SELECT attempt FROM attempts WHERE {at} AND state = 'writeback_commit_pending' AND attempt <> ?"
        )
        rows = tx.query(sql, (*scope, *scope, attempt.attempt))
        return str(rows[0][0]) if rows else None

    def insert_link(self, tx: Transaction, link: str, attempt: Attempt, remote_id: str) -> None:
        """Insert the finalized link of an attempt; the unique indexes refuse a taken key or locator."""
        values = {
            "link": link,
            "link_key": attempt.link_key,
            "object": attempt.object,
            "record": attempt.record,
            "owner_key": attempt.frozen["owner_key"],
            "action_slot": attempt.action_slot,
            "destination_slot": attempt.destination_slot,
            "scope": attempt.contract["scope"],
            "remote_id": remote_id,
            "canonical_id": attempt.canonical(remote_id),
            "state": "finalized",
            "attempt": attempt.attempt,
            "mirror": "pending",
            "created_install": attempt.frozen["install"],
            "validated_install": attempt.frozen["install"],
            "names": canonical_json(attempt.names),
        }
        marks = ", ".join("?" for _ in values)
        tx.execute(f"INSERT INTO links ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))

    def mark_mirror(self, tx: Transaction, attempt: Attempt, mirror: str) -> None:
        """Record on the link how the last mirror write ended."""
        tx.execute("UPDATE links SET mirror = ? WHERE link_key = ? AND state <> 'retired'", (mirror, attempt.link_key))

    def note_act(self, tx: Transaction, act: str, link_key: str, by: str, evidence: str) -> None:
        """Keep who did what by hand, and on what evidence."""
        tx.execute("INSERT INTO acts (act, link_key, by, evidence) VALUES (?, ?, ?, ?)", (act, link_key, by, evidence))

    def _occupant_sql(self) -> str:
        # A retired link keeps its key shut: nothing is created again without a further explicit act.
        return (
            "SELECT 'link', link, state FROM links WHERE link_key = ? UNION ALL"
            f" SELECT 'attempt', attempt, state FROM attempts WHERE link_key = ? AND state IN ({self._occupying})"
        )


Moves = Mapping[str, tuple[tuple[str, ...], str | None]]
#: Made once for each lifecycle object: stores are opened some thousand times in a run.
_MOVES: dict[int, tuple[Lifecycle, Moves]] = {}


def _moves(lifecycle: Lifecycle) -> Moves:
    """Trigger -> (sources, destination); a write in place has no destination."""
    found: dict[str, tuple[tuple[str, ...], str | None]] = {}
    for t in lifecycle.transitions:
        sources = found.get(t.trigger, ((), None))[0]
        found[t.trigger] = ((*sources, str(t.source)), t.dest)
    for write in lifecycle.in_place:
        found[write.trigger] = (write.states, None)
    return found


def expired(attempt: Attempt, now: Time) -> bool:
    """Whether nobody holds the attempt any more: no claim, or a lease that is over by a trusted clock."""
    if attempt.claim is None:
        return True
    due = attempt.lease_expires_at
    return now.trusted and due is not None and now.wall_ms > due


def _texts(values: Any) -> str:
    return ", ".join(f"'{value}'" for value in values)
