"""A lane as a picture: threads run from the order of arrival to the order of the replay.

Colour means one thing only, a cycle. A thread that crosses another one shows a row that overtook; grey
threads are rows on no cycle. The red arcs on the right are the broken edges, from each row that waited to
the row that left before it.
"""

from __future__ import annotations

from html import escape
from textwrap import wrap

from statemachines.lanes.picture import Break, Dot, Picture, nested

_ROW = 36  # height of a row, in pixels like all that follows
_TOP = 118
_CHARACTER = 8.8  # width of a wide bold character at 13 px; fonts differ, so rather too much
_THREAD = 240  # from the dots on the left to those on the right
_CYCLES = ("#0f766e", "#7c3aed", "#b45309", "#0369a1", "#be185d", "#4d7c0f")
_GREY = "#94a3b8"
_RED = "#dc2626"

_STYLE = """
  text { font: 13px system-ui, "Segoe UI", "Helvetica Neue", "DejaVu Sans", sans-serif; fill: #334155 }
  .title { font-size: 18px; font-weight: 600; fill: #0f172a }
  .head { font-size: 11px; letter-spacing: .08em; fill: #64748b }
  .row { font-weight: 600; fill: #0f172a }
  .dim { fill: #64748b }
  .thread { fill: none; stroke-width: 2.5; stroke-linecap: round }
  .arc { fill: none; stroke: #dc2626; stroke-width: 1.6 }
  .why { font-size: 12px }
  .key { font-size: 11px; fill: #64748b }
""".strip("\n")


def draw_svg(picture: Picture) -> str:
    """The picture as one SVG document without script and without anything loaded from elsewhere."""
    frame = _Frame(picture)
    body = [
        *_headings(picture, frame),
        *(_band(frame, k, first, last) for k, (first, last) in enumerate(picture.cycles)),
        *(_thread(dot, frame) for dot in sorted(picture.dots, key=lambda dot: dot.cycle is not None)),
        *(part for dot in picture.dots for part in _labels(dot, frame)),
        *(part for depth, arc in nested(picture.breaks) for part in _arc(frame, depth, arc)),
        *_key(picture, frame),
        *_reasons(picture, frame),
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {frame.width} {frame.height}" '
            f'width="{frame.width}" height="{frame.height}" role="img" aria-labelledby="title summary">',
            f'<title id="title">lane {escape(picture.title)}</title>',
            f'<desc id="summary">{escape(picture.summary)}</desc>',
            f"<style>\n{_STYLE}\n</style>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            *body,
            "</svg>\n",
        ]
    )


class _Frame:
    """Where things stand, from left to right: date, row, ordinal, threads, place, row, ordinal, arcs."""

    def __init__(self, picture: Picture) -> None:
        def wide(texts: list[str], least: int) -> float:
            return _CHARACTER * max([least, *(len(text) for text in texts)])

        dots = list(picture.dots)
        self.names = wide([dot.row for dot in dots], 3)
        self.ordinals = wide([dot.ordinal for dot in dots], 7)
        self.date = 32
        self.row = round(self.date + wide([dot.date for dot in dots], 8) + 16 + self.names)
        self.ordinal = round(self.row + 24 + self.ordinals)
        self.left = self.ordinal + 24
        self.right = self.left + _THREAD
        self.place = self.right + 34
        self.row_again = round(self.place + 22 + self.names)
        self.ordinal_again = round(self.row_again + 24 + self.ordinals)
        self.arcs = self.ordinal_again + 20
        depth = max((depth for depth, _ in nested(picture.breaks)), default=-1)
        self.edge = self.ordinal_again + 14  # right end of the bands
        self.width = max(720, self.arcs + 60 + 20 * (depth + 1))
        self.bottom = _TOP + _ROW * len(dots)
        lines = sum(len(_wrapped(reason, self.width)) for reason in picture.reasons)
        self.key = self.bottom + 30
        self.height = round(self.key + (54 + 19 * lines if lines else 24))

    @staticmethod
    def y(place: int) -> float:
        """The middle of the row at `place`."""
        return _TOP + _ROW * (place + 0.5)


def _headings(picture: Picture, frame: _Frame) -> list[str]:
    def head(x: float, text: str, anchor: str) -> str:
        return f'<text class="head" x="{x}" y="{_TOP - 14}" text-anchor="{anchor}">{text}</text>'

    return [
        f'<text class="title" x="{frame.date}" y="40">lane {escape(picture.title)}</text>',
        f'<text class="dim" x="{frame.date}" y="62">{escape(picture.summary)}</text>',
        head(frame.date, "ARRIVED", "start"),
        head(frame.row, "ROW", "end"),
        head(frame.ordinal, "ORDINAL", "end"),
        head(frame.place, "REPLAYED", "end"),
        head(frame.row_again, "ROW", "end"),
        head(frame.ordinal_again, "ORDINAL", "end"),
        f'<line x1="{frame.date}" x2="{frame.edge}" y1="{_TOP - 4}" y2="{_TOP - 4}" stroke="#e2e8f0"/>',
    ]


def _colour(cycle: int | None) -> str:
    return _GREY if cycle is None else _CYCLES[cycle % len(_CYCLES)]


def _band(frame: _Frame, cycle: int, first: int, last: int) -> str:
    top, height = _TOP + _ROW * first + 3, _ROW * (last - first + 1) - 6
    colour = _colour(cycle)
    return (
        f'<rect x="{frame.right - 14}" y="{top}" width="{frame.edge - frame.right + 14}" height="{height}" '
        f'rx="10" fill="{colour}" fill-opacity=".09" stroke="{colour}" stroke-opacity=".35"/>'
    )


def _thread(dot: Dot, frame: _Frame) -> str:
    y1, y2 = frame.y(dot.arrived), frame.y(dot.replayed)
    bend = _THREAD * 0.45
    return (
        f'<path class="thread" stroke="{_colour(dot.cycle)}" d="M{frame.left} {y1} C{frame.left + bend} {y1} '
        f'{frame.right - bend} {y2} {frame.right} {y2}"/>'
    )


def _labels(dot: Dot, frame: _Frame) -> list[str]:
    """The words of one row on both sides, and its dots: filled for a stamped row, hollow for a zero row."""
    y1, y2 = frame.y(dot.arrived), frame.y(dot.replayed)
    colour = _colour(dot.cycle)
    fill = colour if dot.ordinal else "#ffffff"
    circles = [
        f'<circle cx="{x}" cy="{y}" r="5" fill="{fill}" stroke="{colour}" stroke-width="2.5"/>'
        for x, y in ((frame.left, y1), (frame.right, y2))
    ]

    def word(kind: str, x: float, y: float, text: str, anchor: str = "end") -> str:
        return f'<text class="{kind}" x="{x}" y="{y + 4.5}" text-anchor="{anchor}">{escape(text)}</text>'

    ordinal = dot.ordinal or "–"
    return [
        *circles,
        word("dim", frame.date, y1, dot.date, "start"),
        word("row", frame.row, y1, dot.row),
        word("", frame.ordinal, y1, ordinal),
        word("dim", frame.place, y2, str(dot.replayed + 1)),
        word("row", frame.row_again, y2, dot.row),
        word("", frame.ordinal_again, y2, ordinal),
    ]


def _arc(frame: _Frame, depth: int, arc: Break) -> list[str]:
    """A comb: its back in its column, a tooth at each row that waited, an arrowhead at the row that left.

    Arrows point a little above the middle of a row and teeth leave below it, each column at a height of its
    own, so that lines of different arcs do not run into each other.
    """
    x, back, round_ = frame.arcs, frame.arcs + 26 + 20 * depth, 8
    below = 3 + 3.5 * min(depth, 3)
    top, low = frame.y(arc.early) - 5, frame.y(arc.waited[-1]) + below
    teeth = "".join(f"M{x} {frame.y(place) + below}H{back}" for place in arc.waited[:-1])
    return [
        f'<path class="arc" d="M{x + 7} {top}H{back - round_}Q{back} {top} {back} {top + round_}'
        f'V{low - round_}Q{back} {low} {back - round_} {low}H{x}{teeth}"/>',
        f'<path fill="{_RED}" d="M{x} {top}l9 -4.5v9z"/>',
    ]


def _key(picture: Picture, frame: _Frame) -> list[str]:
    """What the signs mean; only those that occur."""
    y, x = frame.key, frame.date
    signs = [
        (True, f'<circle cx="6" cy="-4" r="5" fill="{_GREY}"/>', "has an ordinal"),
        (True, f'<circle cx="6" cy="-4" r="4" fill="#fff" stroke="{_GREY}" stroke-width="2"/>', "has none"),
        (bool(picture.cycles), _sample_band(), "rows of one cycle"),
        (
            bool(picture.breaks),
            f'<path fill="{_RED}" d="M0 -4l12 -5v10z"/>',
            "left before rows that precede it",
        ),
    ]
    parts = []
    for shown, sign, meaning in signs:
        if shown:
            parts.append(f'<g transform="translate({x} {y})">{sign}<text class="key" x="20">{meaning}</text></g>')
            x += 44 + round(6.2 * len(meaning))
    return parts


def _sample_band() -> str:
    colour = _colour(0)
    return f'<rect y="-10" width="13" height="12" rx="3" fill="{colour}" fill-opacity=".15" stroke="{colour}"/>'


def _reasons(picture: Picture, frame: _Frame) -> list[str]:
    if not picture.reasons:
        return []
    y = frame.key + 34
    parts = [f'<text class="head" x="{frame.date}" y="{y}" style="fill:{_RED}">BROKEN EDGES</text>']
    for reason in picture.reasons:
        for line in _wrapped(reason, frame.width):
            y += 19
            parts.append(f'<text class="why" x="{frame.date}" y="{y}" xml:space="preserve">{escape(line)}</text>')
    return parts


def _wrapped(reason: str, width: float) -> list[str]:
    return wrap(reason, round((width - 64) / 7.2), subsequent_indent="      ")
