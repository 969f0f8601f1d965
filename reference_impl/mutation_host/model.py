"""The values that the host passes around: a call under way, a refusal, a ledger row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reference_impl.store import Row


@dataclass(frozen=True, slots=True)
class Proof:
    """An approval or event claim that verified: what is spent, once, and the wall time (ms) at which it lapses."""

    issuer: str
    reference: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class Call:
    """One admitted invocation: what is to be done, for whom, under which key, and until when (elapsed ms).

    ``mode`` is the operation's approval, ``subject`` what an approval has to be bound to, ``proof`` the one that
    verified; ``capacity`` is the number of live reservations that the store holds, None where it is not bounded.
    """

    instance: str
    request_id: str
    operation: str
    connection: str
    caller: str
    input: Mapping[str, Any]
    input_digest: str
    key: str | None
    namespace: str
    fingerprint: str
    deadline_mono_ms: int
    context: Mapping[str, Any]
    mode: str
    presented: Mapping[str, Any] | None
    subject: Mapping[str, Any]
    proof: Proof | None = None
    capacity: int | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a candidate is refused ahead of its anchor: a code of spec/tables/codes.yaml, and a cause."""

    code: str
    cause: str


@dataclass(frozen=True, slots=True)
class Record:
    """A reservation with its attempt as one read saw them; ``reservation`` is None for an unkeyed attempt."""

    attempt: str
    request_id: str
    state: str
    result: str | None
    cause: str | None
    reservation: str | None
    reservation_state: str | None
    fingerprint: str | None
    replay_expires_at: int | None

    @staticmethod
    def from_row(row: Row) -> Record:
        """The record in a row of :data:`RECORD_SQL`."""
        return Record(*tuple(row))


RECORD_SQL = """SELECT a.attempt, a.request_id, a.state, a.result, a.cause,
    r.reservation, r.state, r.fingerprint, r.replay_expires_at
    FROM attempts a LEFT JOIN reservations r ON r.attempt = a.attempt"""
