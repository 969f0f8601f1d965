"""Pairs of a preemption and a fault: what comes later is known from a recording with the second actor at work."""

from __future__ import annotations

from dataclasses import replace

from conformance.carriers.inprocess import InProcessCarrier
from conformance.families import FAMILIES
from conformance.outcome import run_schedule
from conformance.search.plan import make_plan
from reference_impl.driver import Reference

HOST = FAMILIES["mutation-host"]
#: A duplicate takes the key while the first call stands behind its lookup, so that this one never gets to its prepare.
LOST_KEY = "mutation/invoke-keyed/w1.invoke.lookup:read#1@pause+duplicate/"


def test_no_fault_is_armed_at_a_call_that_the_second_actor_has_taken_away() -> None:
    carrier = InProcessCarrier("reference", Reference)
    alone = replace(HOST, scenarios=tuple(s for s in HOST.scenarios if s.id == "mutation/invoke-keyed"))
    pairs = [
        p for p in make_plan(alone, carrier, "nightly").programs if p.id.startswith(LOST_KEY) and p.id.count("@") > 1
    ]
    assert pairs
    assert not any("invoke.prepare:write" in p.id for p in pairs)
    assert {p.id: missed for p in pairs if (missed := run_schedule(HOST, p, carrier, {}).missed)} == {}
