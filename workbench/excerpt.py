"""Dialogue and tables of data as inert HTML, for notebooks: everything that is data is escaped, and
nh3 keeps nothing but the tags and the few styles that this module itself writes."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import nh3
import polars as pl

from workbench.escaped import literal, marked

__all__ = ["excerpt", "listing"]

TAGS = {"table", "thead", "tbody", "tr", "th", "td", "p", "b", "mark", "br", "div", "small", "hr"}
ATTRIBUTES = {"*": {"style"}, "div": {"style", "tabindex"}}

CELL = "padding:3px 14px 3px 0;vertical-align:top;text-align:left;overflow-wrap:break-word"
SHORT, MIDDLE, LONG = ";white-space:nowrap", ";min-width:8em", ";min-width:14em"
MARK = '<mark style="background:#ffe08a;color:#1b1f24;border-radius:2px">'
TURN = "margin:0 0 6px 0;padding:2px 0 2px 10px;border-left:3px solid "
PLAIN, EVIDENCE = "rgba(128,128,128,.35)", "#E69F00"
MOST_IDS = 6
SHORT_TEXT = 16  # characters of a text that is not broken


def excerpt(rows: pl.DataFrame, cut: int = 1_500) -> str:
    """Turns of a dialogue (`inspection.context`), those with evidence marked, in their sessions.

    Longer texts are cut at `cut` characters; an empty frame says that there is nothing.
    """
    if not len(rows):
        return "<p>No turn of the dialogue belongs to it.</p>"
    return _clean("".join(_turns(rows, cut)))


def listing(rows: pl.DataFrame, columns: Mapping[str, str], most: int = 10, cut: int = 300) -> str:
    """The first `most` rows as a table, with how many there are; `columns` maps the columns that
    are shown to their headings. Texts are cut at `cut` characters."""
    if not len(rows):
        return ""
    head = "".join(f'<th style="{CELL}{SHORT}">{literal(name)}</th>' for name in columns.values())
    body = "".join(
        "<tr>" + "".join(_cell(row[column], cut) for column in columns) + "</tr>"
        for row in rows.head(most).iter_rows(named=True)
    )
    shown = f"{min(most, len(rows)):,} of {len(rows):,} are shown." if len(rows) > most else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return _clean(f'<div style="overflow-x:auto" tabindex="0">{table}</div><small>{shown}</small>')


def _turns(rows: pl.DataFrame, cut: int) -> Iterator[str]:
    session = None
    for row in rows.iter_rows(named=True):
        if (row["dialogue"], row["session"]) != session:
            session = (row["dialogue"], row["session"])
            day = f", {_value(row['time'], cut)}" if row["time"] else ""
            name = row["session"] if "session" in row["session"] else f"session {row['session']}"
            yield f"<p><small>{literal(name, 80)}{day}</small></p>"
        elif row["gap"]:
            yield "<p>…</p>"
        colour = EVIDENCE if row["evidence"] else PLAIN
        said = _said(row)
        lines = said.splitlines() if row["evidence"] else ()
        text = marked(said, lines, cut)
        who = f"<b>{literal(row['speaker'], 80)}</b> <small>{literal(row['turn'], 80)}</small>"
        yield f'<div style="{TURN}{colour}">{who}<br>{text}</div>'


def _said(row: Mapping[str, Any]) -> str:
    """A turn's text, its picture's caption and its attachment."""
    shared = f"\n[shares {row['caption']}]" if row["caption"] else ""
    attached = f"\n[attaches {row['attachment']}]" if row["attachment"] else ""
    return f"{row['text']}{shared}{attached}"


def _cell(value: Any, cut: int) -> str:
    """A cell of a table: what is short stays on one line, what is long gets room."""
    shown = _value(value, cut)
    length = len(html.unescape(shown))
    style = SHORT if length <= SHORT_TEXT else LONG if length > 4 * SHORT_TEXT else MIDDLE
    return f'<td style="{CELL}{style}">{shown}</td>'


def _value(value: Any, cut: int) -> str:
    """A value of a table as inert HTML."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return html.escape(f"{value:%e %B %Y}".strip())
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        more = f" and {len(value) - MOST_IDS:,} more" if len(value) > MOST_IDS else ""
        return literal(", ".join(map(str, value[:MOST_IDS])) + more, cut)
    return literal(str(value), cut)


def _clean(made: str) -> str:
    """Inert, with marks that can be read on either paper."""
    return nh3.clean(made, tags=TAGS, attributes=ATTRIBUTES).replace("<mark>", MARK)
