"""What makes two requests the same, against vectors that were computed without any code of this project."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from reference_impl.mutation_host.identity import canonical_json, fingerprint, input_digest, mutation_key, namespace

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "golden" / "identity.json").read_text(encoding="utf-8")
)
EVERY = [vector for part in ("inputs", "keys", "requests") for vector in GOLDEN[part]]


@pytest.mark.parametrize("vector", EVERY, ids=lambda v: v["sha256"][:8])
def test_the_vectors_hash_their_own_bytes(vector: dict[str, Any]) -> None:
    assert hashlib.sha256(vector["canonical"].encode()).hexdigest() == vector["sha256"]


@pytest.mark.parametrize("vector", GOLDEN["inputs"], ids=lambda v: v["canonical"])
def test_the_canonical_input_and_its_digest(vector: dict[str, Any]) -> None:
    assert canonical_json(vector["value"]) == vector["canonical"]
    assert input_digest(vector["value"]) == vector["sha256"]


@pytest.mark.parametrize("vector", GOLDEN["keys"], ids=lambda v: v["canonical"])
def test_the_key_tuple(vector: dict[str, Any]) -> None:
    assert mutation_key(vector["instance"], vector["context"], vector["key"]) == vector["canonical"]


def test_namespaces_with_their_key_are_all_different() -> None:
    pairs = {(namespace(v["instance"], v["context"]), v["key"]) for v in GOLDEN["keys"]}
    assert len(pairs) == len(GOLDEN["keys"])


@pytest.mark.parametrize("vector", GOLDEN["requests"], ids=lambda v: v["sha256"][:8])
def test_the_fingerprint(vector: dict[str, Any]) -> None:
    parts = (vector["config"], vector["context"], vector["operation"], vector["request"], vector["input_digest"])
    assert fingerprint(*parts) == vector["canonical"]
