"""Pieces of HTML. Whatever others wrote goes through :func:`esc`: it is shown, never obeyed."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from statemachines.plain import plain


def esc(text: object) -> str:
    """Text for an element or a quoted attribute: markup is escaped, control characters are spelled out."""
    return html.escape(plain(text), quote=True)


def prose(text: object) -> str:
    """A sentence of the specification: what it puts between backticks is shown as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", esc(text))


def ident(*parts: object) -> str:
    """An id for an anchor: letters, digits, dots and dashes only."""
    return "-".join(re.sub(r"[^A-Za-z0-9_.]+", "-", str(part)) for part in parts)


def pill(status: str) -> str:
    """A status as a coloured word."""
    return f'<span class="pill s-{ident(status)}">{esc(status)}</span>'


def items(lines: Iterable[str], cls: str = "") -> str:
    """A list of plain sentences."""
    attribute = f' class="{cls}"' if cls else ""
    return f"<ul{attribute}>" + "".join(f"<li>{esc(line)}</li>" for line in lines) + "</ul>"


def short(number: int) -> str:
    """A count in at most four characters: ``987``, ``1.2k``, ``34k``, ``5M``."""
    if number < 1000:
        return str(number)
    if number < 9950:
        return f"{number / 1000:.1f}k"
    return f"{number / 1000:.0f}k" if number < 999_500 else f"{number / 1_000_000:.0f}M"


def section(anchor: str, title: str, lead: str, body: str) -> str:
    """A section with an anchor; ``lead`` is a plain sentence, ``body`` is HTML. Empty without a body."""
    if not body:
        return ""
    return f'<section id="{anchor}"><h2>{esc(title)}</h2><p class="lead">{esc(lead)}</p>{body}</section>'
