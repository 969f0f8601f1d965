"""Under which code a refusal of a provider is told."""

from __future__ import annotations

import pytest

from reference_impl.mutation_host.answers import provider_code


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("rate_limited", "rate_limited"),
        ("not_allowed", "forbidden"),
        ("outcome_unknown", "forbidden"),
        (None, "forbidden"),
    ],
)
def test_a_base_code_passes_and_all_else_is_one_code(reason: str | None, code: str) -> None:
    assert provider_code(reason) == code
