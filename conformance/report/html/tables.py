"""The tables of the documents, with how often each row was exercised."""

from __future__ import annotations

from conformance.report.html.markup import esc
from conformance.report.model import Report
from conformance.report.views import RowView, TableView


def tables(report: Report) -> str:
    """All tables; empty where the record has none."""
    return "".join(_table(table) for table in report.tables)


def _table(table: TableView) -> str:
    rows = "".join(_row(row) for row in table.rows)
    opened = " open" if table.exercised else ""
    spoken = sum(row.times is not None for row in table.rows)
    return (
        f'<details class="sheet"{opened}><summary><b>{esc(table.title)}</b> <code>{esc(table.id)}</code>'
        f"<small>{table.exercised} of {len(table.rows)} rows exercised; {spoken} are looked for</small></summary>"
        f'<div class="scroll"><table class="rows"><thead>'
        f'<tr><th>row</th><th>when</th><th>then</th><th class="n">times</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div></details>"
    )


def _row(row: RowView) -> str:
    when = "".join(_pair(name, " or ".join(values)) for name, values in row.when.items())
    then = "".join(_pair(name, value) for name, value in row.then.items())
    if row.times is None:
        state, times = "quiet", "<small>not looked for yet</small>"
    else:
        state, times = ("hit" if row.times else "miss"), f"<b>{row.times:,}</b>"
    return (
        f'<tr class="{state}"><td data-name="row"><code>{esc(row.id)}</code></td>'
        f'<td data-name="when">{when or "always"}</td><td data-name="then">{then}</td>'
        f'<td data-name="times" class="n">{times}</td></tr>'
    )


def _pair(name: str, value: str) -> str:
    return f'<span class="pair"><i>{esc(name)}</i> {esc(value)}</span> '
