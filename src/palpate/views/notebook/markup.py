"""Pieces of a notebook's cell: a table, and a page in a frame."""

from __future__ import annotations

from collections.abc import Sequence

from palpate.escape.documents import html_text

_STYLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
_LEFT, _RIGHT = "text-align:left;padding:2px 12px 2px 0", "text-align:right;padding:2px 12px 2px 0"


def framed_page(page: str, title: str, *, scripts: bool) -> str:
    """A whole page inside a cell: with nothing to serve or to fetch."""
    allowed = "allow-scripts allow-downloads" if scripts else ""
    return (
        f'<iframe title="{html_text(title)}" srcdoc="{html_text(page)}" sandbox="{allowed}" '
        'style="width:100%;height:520px;border:0"></iframe>'
    )


def table_html(heads: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    """A table; `align` has a letter for each column, r for right."""
    sides = [_RIGHT if side == "r" else _LEFT for side in align]
    head = "".join(f'<th style="{side}">{html_text(text)}</th>' for text, side in zip(heads, sides))
    cells = ["".join(f'<td style="{side}">{html_text(cell)}</td>' for cell, side in zip(row, sides)) for row in rows]
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f'<table style="{_STYLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
