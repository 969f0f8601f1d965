"""``report.html``: one static file that a person would rather look at than read. It needs no script."""

from conformance.report.html.page import as_html

__all__ = ["as_html"]
