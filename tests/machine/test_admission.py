"""The reference refuses a call by the first check of the order that the specification fixes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.families.mutation_host.scenarios import ALICE, CONFIG
from reference_impl.mutation_host.admission import Admission, Denied
from reference_impl.mutation_host.settings import Settings

REQUEST = {
    "version": "v1alpha2",
    "request_id": "q1",
    "operation": "thing.write",
    "connection": "conn-a",
    "revision": "r1",
    "input": {"marker": "m1"},
    "idempotency_key": "k1",
}


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"version": "v1", "operation": "thing.none"}, "invalid_input"),
        ({"colour": "red", "operation": "thing.none"}, "invalid_input"),
        ({"operation": "thing.none", "revision": "r0"}, "forbidden"),
        ({"revision": "r0", "connection": "conn-b"}, "stale_description"),
        ({"connection": "conn-b", "idempotency_key": ""}, "not_found"),
        ({"idempotency_key": ""}, "invalid_input"),
        ({"operation": "thing.touch"}, "invalid_input"),
    ],
)
def test_the_first_check_that_refuses_decides(tmp_path: Path, changed: dict[str, Any], code: str) -> None:
    admission = Admission(Settings(tmp_path, CONFIG, fresh=True), 65_536)
    with pytest.raises(Denied) as denied:
        admission.admit(ALICE, {**REQUEST, **changed}, 20_000)
    assert denied.value.code == code


def test_an_operation_that_is_allowed_but_not_configured_is_not_found(tmp_path: Path) -> None:
    config = {**CONFIG, "callers": [{**ALICE, "may": ["thing.none"]}]}
    admission = Admission(Settings(tmp_path, config, fresh=True), 65_536)
    with pytest.raises(Denied, match="not_found"):
        admission.admit(ALICE, {**REQUEST, "operation": "thing.none", "revision": "r0"}, 20_000)
