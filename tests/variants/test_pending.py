"""The list of deviations that wait: each is planted, each says why, and the kill matrix leaves none out by accident."""

from __future__ import annotations

from conformance.suspects import all_suspects
from reference_impl.deviations import DEVIATIONS, PENDING


def test_each_pending_deviation_exists_and_says_why() -> None:
    assert sorted(PENDING.keys() - {p.id for p in DEVIATIONS}) == []
    assert [id_ for id_, why in PENDING.items() if len(why) < 10] == []


def test_what_is_not_pending_is_in_the_matrix() -> None:
    suspects = {s.id: s.pending for s in all_suspects() if s.kind == "deviation"}
    assert suspects == {p.id: PENDING.get(p.id, "") for p in DEVIATIONS}
