"""A lane in the terminal: arrivals left, the replay right, cycles bracketed, broken edges as arcs."""

from __future__ import annotations

from statemachines.lanes.picture import Break, Dot, Picture, nested

_ARCS_AT_MOST = 10
_UNSTAMPED = "–"
_KEY = "┌ │ └ one cycle    ◄ left before the rows that its arc leads to, though they precede it"


def draw_text(picture: Picture) -> str:
    """The drawing as lines of plain text, the last one ended.

    Left: the rows as they arrived. Right: the same rows as they are replayed; a bracket holds the rows of one
    cycle; an arc leads from each row that had to wait up to the arrowhead of the row that left before it.
    """
    lines = [f"lane {picture.title}", picture.summary]
    if picture.dots:
        lines += ["", *_table(picture)]
    if picture.cycles:
        lines += ["", f"  {'key':<8}{_KEY}"]
    if picture.reasons:
        lines += ["", *_broken(picture.reasons)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _table(picture: Picture) -> list[str]:
    arcs = _arcs(picture)
    wide = max(len("row"), *(len(dot.row) for dot in picture.dots))
    ordinals = max(len("ordinal"), *(len(dot.ordinal) for dot in picture.dots))
    dates = max(len("arrived"), *(len(dot.date) for dot in picture.dots))

    def cells(dot: Dot) -> str:
        return f"{dot.row:>{wide}}  {dot.ordinal or _UNSTAMPED:>{ordinals}}"

    names = f"{'row':>{wide}}  {'ordinal':>{ordinals}}"
    lines = [f"  {'arrived':<{dates}}  {names}     replayed {names}"]
    for place, (left, right) in enumerate(zip(picture.dots, picture.replayed, strict=True)):
        order = f"{place + 1:>5} {_bracket(picture, place)}"
        lines.append(f"  {left.date:<{dates}}  {cells(left)}     {order}  {cells(right)}  {arcs[place]}")
    return lines


def _bracket(picture: Picture, place: int) -> str:
    for first, last in picture.cycles:
        if first <= place <= last:
            return "┌" if place == first else "└" if place == last else "│"
    return " "


def _arcs(picture: Picture) -> list[str]:
    """For each place of the replay the piece of the arcs beside it; long arcs stand outside short ones."""
    columns = _columns(picture.breaks)
    pieces = []
    for place in range(len(picture.dots)):
        cells = ["".join(_cell(column, place)) for column in columns]
        pieces.append(_joined(cells))
    return pieces


def _columns(breaks: tuple[Break, ...]) -> list[list[Break]]:
    """The arcs by column; those beyond the last column stay undrawn, the list below the table names them."""
    columns: list[list[Break]] = [[] for _ in range(_ARCS_AT_MOST)]
    for depth, arc in nested(breaks):
        if depth < _ARCS_AT_MOST:
            columns[depth].append(arc)
    return [column for column in columns if column]


def _cell(column: list[Break], place: int) -> str:
    for arc in column:
        if arc.early == place:
            return "╮"
        if arc.waited[-1] == place:
            return "╯"
        if place in arc.waited:
            return "┤"
        if arc.early < place < arc.waited[-1]:
            return "│"
    return " "


def _joined(cells: list[str]) -> str:
    """Lead a horizontal line from the row to the outermost arc that begins, joins or ends beside it."""
    outermost = max((i for i, cell in enumerate(cells) if cell in "╮┤╯"), default=-1)
    head = "◄" if "╮" in cells else "─" if outermost >= 0 else " "
    drawn = [head]
    for i, cell in enumerate(cells):
        if i < outermost:
            crossed = {" ": "─", "│": "┼", "╮": "┬", "╯": "┴", "┤": "┼"}[cell]
            drawn.append("─" + crossed)
        else:
            drawn.append(("─" if i == outermost else " ") + cell)
    return "".join(drawn)


def _broken(reasons: tuple[str, ...]) -> list[str]:
    return [f"  {'broken' if i == 0 else '':<8}{reason}" for i, reason in enumerate(reasons)]
