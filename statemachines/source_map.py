"""YAML text to plain data that still knows its line and column.

Only a small, plain part of YAML is accepted, so that every reader in every language sees the same data: no
tabs, anchors, aliases, tags or duplicate keys, and only `true`, `false`, `null`, integers and decimals are
anything but text (`yes`, `on` and dates stay text, as in YAML 1.2).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from statemachines.files import opened
from statemachines.findings import Finding

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 64
_TAG = "tag:yaml.org,2002:"
_BOOLEANS = {"true": True, "false": False}
# Something that may be an anchor or an alias; only then are the tokens looked at one by one.
_MAYBE_ANCHOR = re.compile(r"(?m)(?:^|[\s\[{,:-])[&*][^\s]")


class _Loader(yaml.CSafeLoader):
    """The C loader with the resolver of this language instead of YAML 1.1's."""


_Loader.yaml_implicit_resolvers = {}


def _resolver(kind: str, pattern: str, first: str) -> None:
    for char in first or [""]:
        _Loader.yaml_implicit_resolvers.setdefault(char, []).append((_TAG + kind, re.compile(pattern)))


_resolver("bool", r"^(?:true|false)$", "tf")
_resolver("int", r"^-?(?:0|[1-9][0-9]*)$", "-0123456789")
_resolver("float", r"^-?(?:0|[1-9][0-9]*)\.[0-9]+$", "-0123456789")
_resolver("null", r"^(?:null|~|)$", "n~")
_Loader.yaml_implicit_resolvers.setdefault("", []).append((_TAG + "null", re.compile(r"^$")))


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed file: `data` is plain (dict, list, str, int, float, bool, None), `node` knows the places."""

    file: str
    data: object
    node: yaml.Node

    def at(self, path: Sequence[str | int] = (), *, key: bool = False) -> tuple[int, int]:
        """Line and column (from 1) of the value at `path` or its key; of the nearest parent if absent."""
        node = self.node
        mark = node.start_mark
        for part in path:
            if isinstance(node, yaml.MappingNode):
                pair = next((pair for pair in node.value if pair[0].value == str(part)), None)
                if pair is None:
                    break
                node = pair[1]
                mark = pair[0].start_mark if key else node.start_mark
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
                node = node.value[part]
                mark = node.start_mark
            else:
                break
        return mark.line + 1, mark.column + 1

    def finding(
        self, path: Sequence[str | int], rule: str, message: str, fix: str = "", *, key: bool = False
    ) -> Finding:
        """A finding that points at `path` in this file."""
        line, column = self.at(path, key=key)
        return Finding(self.file, line, column, rule, message, fix)


def read(path: Path, name: str) -> tuple[Document | None, list[Finding]]:
    """Read one YAML file; `name` is what findings call it. No document when nothing can be made of it."""
    try:
        with opened(path) as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            message = f"the file has {path.stat().st_size} bytes, more than {MAX_BYTES}"
            return None, [Finding(name, 1, 1, "yaml-too-large", message, "split it into several files")]
    except OSError as error:
        reason = error.strerror or "unknown reason"
        return None, [Finding(name, 1, 1, "file-unreadable", f"cannot be read: {reason}", "check the path")]
    return parse(raw, name)


def parse(raw: bytes, name: str) -> tuple[Document | None, list[Finding]]:
    """Parse the bytes of one file; see `read`."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1) + 1
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        return None, [Finding(name, line, column, "yaml-encoding", message, "save the file as UTF-8")]
    findings = _tabs(text, name) or _anchors(text, name)
    if findings:
        return None, findings
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
    except yaml.YAMLError as error:
        return None, [_syntax(error, text, name)]
    finally:
        loader.dispose()
    if node is None:
        message = "the file holds no data"
        return None, [Finding(name, 1, 1, "yaml-empty", message, "write the document or remove the file")]
    data = _plain(node, 1, name, findings)
    return Document(name, data, node), findings


def _tabs(text: str, name: str) -> list[Finding]:
    if "\t" not in text:
        return []
    return [
        Finding(name, number, line.index("\t") + 1, "yaml-tab", "a tab stands here", "use spaces")
        for number, line in enumerate(text.split("\n"), 1)
        if "\t" in line
    ]


def _anchors(text: str, name: str) -> list[Finding]:
    """Anchors and aliases, from the event stream: it does not expand them, so a bomb costs nothing."""
    if not _MAYBE_ANCHOR.search(text):
        return []
    findings = []
    try:
        for event in yaml.parse(text, Loader=_Loader):
            if anchor := getattr(event, "anchor", None):
                what = "alias" if isinstance(event, yaml.AliasEvent) else "anchor"
                message = f"the {what} '{anchor}' stands here"
                fix = "write the value out, or quote the text"
                findings.append(_at(event, name, "yaml-alias", message, fix))
    except yaml.YAMLError as error:
        findings.append(_syntax(error, text, name))
    return findings


def _at(node: yaml.Node | yaml.Event, name: str, rule: str, message: str, fix: str) -> Finding:
    mark = node.start_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    return Finding(name, line + 1, column + 1, rule, message, fix)


def _plain(node: yaml.Node, depth: int, name: str, findings: list[Finding]) -> object:
    if depth > MAX_DEPTH:
        message = f"nested deeper than {MAX_DEPTH} levels"
        findings.append(_at(node, name, "yaml-too-deep", message, "flatten the data"))
        return None
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, name, findings)
    kind = "map" if isinstance(node, yaml.MappingNode) else "seq"
    if node.tag != _TAG + kind:
        findings.append(_tagged(node, name))
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, depth, name, findings)
    return [_plain(child, depth + 1, name, findings) for child in node.value]


def _mapping(node: yaml.MappingNode, depth: int, name: str, findings: list[Finding]) -> dict[str, object]:
    result: dict[str, object] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            message = "a key is a list or a mapping"
            findings.append(_at(key, name, "yaml-key", message, "use a plain text key"))
            continue
        # Keys are text whatever they look like: a state may be called "null" or "1".
        if key.value in result:
            message = f"the key '{key.value}' appears twice in this mapping"
            findings.append(_at(key, name, "yaml-duplicate-key", message, "keep one of the two"))
            continue
        result[key.value] = _plain(value, depth + 1, name, findings)
    return result


def _scalar(node: yaml.ScalarNode, name: str, findings: list[Finding]) -> object:
    tag, value = node.tag, node.value
    if tag == _TAG + "str":
        return value
    if tag == _TAG + "null":
        return None
    try:
        if tag == _TAG + "int":
            return int(value)
        if tag == _TAG + "bool":
            return _BOOLEANS[value]
        if tag == _TAG + "float":
            return float(value)
        findings.append(_tagged(node, name))
    except (ValueError, KeyError):
        message = f"'{value[:40]}' is no {tag.rpartition(':')[2]}"
        findings.append(_at(node, name, "yaml-value", message, "correct or quote it"))
    return None


def _tagged(node: yaml.Node, name: str) -> Finding:
    return _at(node, name, "yaml-tag", f"the tag '{node.tag}' is not allowed", "remove the tag")


def _syntax(error: yaml.YAMLError, text: str, name: str) -> Finding:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    position = getattr(error, "position", None)
    if mark is None and isinstance(position, int):
        line = text.count("\n", 0, position) + 1
        column = position - (text.rfind("\n", 0, position) + 1) + 1
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not readable as YAML"
    context = getattr(error, "context", None)
    message = f"{context}: {problem}" if context else str(problem)
    return Finding(name, line, column, "yaml-syntax", " ".join(message.split()), "correct the YAML here")
