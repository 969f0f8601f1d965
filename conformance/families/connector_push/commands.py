"""The commands of connector push as ops of a schedule (spec/commands/connector_push.yaml)."""

from __future__ import annotations

from typing import Any

from conformance.search.program import Op, call


def write(proc: str, record: str, *, source_object: str = "Contact", locked: bool = False, **fields: Any) -> Op:
    """Create or change a local record; its marker is its own id unless ``fields`` say otherwise."""
    named = {"marker": record, "Name": f"name of {record}", **fields}
    return call(proc, "push.write_record", object=source_object, id=record, fields=named, locked=locked)


def delete(proc: str, record: str, source_object: str = "Contact") -> Op:
    """Delete a local record."""
    return call(proc, "push.delete_record", object=source_object, id=record)


def restore(proc: str, record: str, source_object: str = "Contact") -> Op:
    """Undo the deletion of a local record."""
    return call(proc, "push.restore_record", object=source_object, id=record)


def save(proc: str, record: str, source_object: str = "Contact") -> Op:
    """Alice's save of a record that may push."""
    return call(proc, "push.trigger", object=source_object, id=record, user="alice")


def work(proc: str, kind: str = "general") -> Op:
    """One pass of a worker named like its process."""
    return call(proc, "push.work", worker=proc, kind=kind)


def operate(proc: str, act: str, record: str, **members: Any) -> Op:
    """An explicit act of an operator, with evidence."""
    args = {"act": act, "object": "Contact", "id": record, "by": "operator", "evidence": "ticket 1", **members}
    return call(proc, "push.operate", **args)
