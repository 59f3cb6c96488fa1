"""What notebooks show of objects: small tables, without scripts, in the colours of the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_LONGEST = 400  # characters of a cell
_CELL = "text-align:left;vertical-align:top"


def _clean(text: str) -> str:
    from html import escape  # its table of entities is large, and only notebooks need it

    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."
    return escape("".join(c if c.isprintable() or c == "\n" else "?" for c in text))


def page(title: str, rows: Iterable[Sequence[str]], more: str = "") -> str:
    """A title, and a table of texts; both are escaped. `more` is HTML that goes below."""
    lines = [
        "<tr>"
        f'<th style="{_CELL};font-weight:normal;opacity:0.7">{_clean(row[0])}</th>'
        f'<td style="{_CELL};white-space:pre-wrap;font-family:monospace">{_clean(row[1])}</td>'
        "</tr>"
        for row in rows
    ]
    table = f"<table>{''.join(lines)}</table>" if lines else ""
    return f"<div><strong>{_clean(title)}</strong>{table}{more}</div>"
