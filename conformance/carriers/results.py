"""What a driver may say in a `result`, by verb, command and family: spec/commands and the message schema.

A valid result costs some microseconds; only a refused one is looked at closely, to say which member is wrong and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from conformance.schemas import part
from statemachines.accept import Check
from statemachines.generate import generate
from statemachines.spec import load

#: The verbs whose result says nothing.
_EMPTY: Final = frozenset({"reset", "set_time", "arm", "resume", "bye"})
#: What is asked: the verb, and the family and the command's name where the verb depends on them.
Asked = tuple[str, str, str]


class BadResult(Exception):
    """A result that its schema refuses; ``guess`` says what to do."""

    def __init__(self, reason: str, guess: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.guess = guess


class Results:
    """Checks the results of one process; it learns the family from `reset`."""

    def __init__(self) -> None:
        self._family = ""
        self._seen: object = None

    def asked(self, message: Mapping[str, Any]) -> Asked:
        """What a request asks for: to be given to :meth:`check` with the result."""
        verb: str = message["cmd"]
        if verb == "command":
            return verb, self._family, str(message["args"].get("name", ""))
        if verb == "reset":
            self._family = str(message["args"]["config"].get("family", ""))
        return verb, self._family, ""

    def check(self, asked: Asked, result: Mapping[str, Any]) -> None:
        """Raises BadResult for what the schema of the verb or command refuses."""
        if asked[0] in _EMPTY and not result:
            return
        # A simulated process gives the very rows of its last snapshot again while nothing has changed.
        rows = result.get("kinds") if asked[0] == "snapshot" else None
        if rows is not None and rows is self._seen and len(result) == 2 and result.get("source") == "store":
            return
        check = _check(asked)
        if check is not None and not check(result):
            raise _explained(asked, result)
        if rows is not None:
            _unique(asked, rows)
        self._seen = rows


@cache
def _schema(asked: Asked) -> Mapping[str, Any] | None:
    """The schema for a result, or None where nothing is known of it (a family that is not in spec/commands)."""
    verb, family_id, name = asked
    if verb == "hello":
        return part("message", "identity")
    if verb in _EMPTY:
        return part("message", "empty")
    spec = load()
    family = spec.commands.get(family_id)
    if family is None:
        return None
    if verb == "snapshot":
        return family.snapshot(spec.lifecycles)
    if verb == "recover":
        return family.closed(family.recovery.result)
    command = family.commands.get(name)
    return None if command is None else family.closed(command.result)


@cache
def _check(asked: Asked) -> Check | None:
    schema = _schema(asked)
    return None if schema is None else generate(schema)


@cache
def _keys(family_id: str) -> Mapping[str, tuple[str, ...]]:
    """Kind of row -> the columns by which its rows are told apart, where there are any."""
    family = load().commands.get(family_id)
    return {} if family is None else {kind.kind: kind.key for kind in family.rows.values() if kind.key}


def _unique(asked: Asked, kinds: Mapping[str, Any]) -> None:
    """Raises BadResult for two rows with one key: of such rows whoever reads by key sees the last one only."""
    for kind, columns in _keys(asked[1]).items():
        rows = kinds.get(kind, ())
        keys = [tuple(row[column] for column in columns) for row in rows]
        if len(set(keys)) == len(keys):
            continue
        key = next(key for key, count in Counter(keys).items() if count > 1)
        named = ", ".join(f"{column} {value!r}" for column, value in zip(columns, key, strict=True))
        raise BadResult(
            f"the result of snapshot: result.kinds.{kind} has two rows with {named}",
            "each row once, as one consistent read of the store gives it",
        )


def _explained(asked: Asked, result: Mapping[str, Any]) -> BadResult:
    # Imported late: nearly always there is nothing to explain.
    from statemachines.schema import explain  # noqa: PLC0415

    schema = _schema(asked)
    assert schema is not None
    first = next(iter(explain(schema, result, "result")), ("result is not valid", "see docs/driver-protocol.md"))
    what = f"command {asked[2]!r}" if asked[2] else asked[0]
    return BadResult(f"the result of {what}: {first[0]}", first[1])
