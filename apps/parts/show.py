"""Ways to show things: anybody's text literally, figures in the page's mode, empty states."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from parts import redaction, state
from parts.redaction import hidden, hiding
from workbench import escaped as inert
from workbench.errors import WorkbenchError
from workbench.theme import CAPTION, template, visible
from workbench.usable import unknown

__all__ = [
    "MARK",
    "chrome",
    "empty",
    "escaped",
    "figure",
    "hidden",
    "hiding",
    "literal",
    "marked",
    "mode",
    "plain",
    "settled",
    "text",
    "trouble",
]

STYLE = Path(__file__).with_name("style.css")
MARK = "★"  # beside whatever holds evidence
# Escapes are gone when Streamlit makes links of addresses, icons of `:material/lock:`, and other
# characters of `->`, `--` and `>=`. A joiner, which is not seen, keeps it from recognising them.
JOINER = "\N{WORD JOINER}"
REWRITTEN = re.compile(
    r"(?<=:)(?=[/+\w])(?!\d)|(?=@)|(?<=@)|(?<=www)(?=\.)|(?<=[-<>=~])(?=[-<>=~])", re.I
)


def chrome() -> None:
    """What every page begins with: the style, and remarks on an address that could not be read."""
    st.html(STYLE)
    for remark in state.remarks():
        st.warning(plain(f"In the {state.where()}: {remark}"))
    if state.read_only():
        st.caption("Read-only: nothing can be written here.")
    if redaction.on():
        st.caption("Names are hidden on the screen: see *About the data* for what that misses.")


def mode() -> str:
    """ "light" or "dark", as the page is."""
    return st.context.theme.type or "light"


def escaped(said: str) -> str:
    """Data as HTML for `st.html`: literal."""
    return literal(said)


def literal(said: str, cut: int | None = None) -> str:
    """`workbench.escaped.literal`, with names hidden where that is asked for."""
    return inert.literal(hidden(said), cut)


def marked(said: str, phrases: Iterable[str], cut: int | None = None) -> str:
    """`workbench.escaped.marked`, with names hidden where that is asked for."""
    return inert.marked(hidden(said), map(hidden, phrases), cut)


def text(said: str, phrases: Iterable[str] = (), cut: int | None = None) -> None:
    """Dialogue, memories, names: shown as they are, never as Markdown or HTML; phrases marked."""
    st.html(f'<div class="literal">{marked(said, phrases, cut)}</div>')


def figure(drawn: go.Figure, key: str, least: int = 640, **options: Any) -> Any:
    """A figure in the page's mode, its caption below it as text; what `st.plotly_chart` returns.

    On a screen narrower than `least` pixels it keeps that width, and is moved sideways.
    """
    caption = hidden((drawn.layout.meta or {}).get("caption", ""))
    with st.container(key=f"wide{least}-{key}"):
        chosen = st.plotly_chart(_on_the_page(drawn), key=key, theme=None, alt=caption, **options)
    if caption:
        st.html(f'<div class="caption quiet">{literal(caption)}</div>')
    return chosen


def _on_the_page(drawn: go.Figure) -> go.Figure:
    """The figure in the page's mode, on its paper, without the caption that it carries for
    exports: the page has room for it."""
    spec = drawn.to_plotly_json()  # plain values: plotly's own objects check each change
    if redaction.on():
        spec = redaction.inside(spec, redaction.hidden_names())
    layout = spec["layout"]
    layout["template"] = template(mode())
    layout["paper_bgcolor"] = layout["plot_bgcolor"] = "rgba(0,0,0,0)"
    kept = [one for one in layout.get("annotations", ()) if one.get("name") != CAPTION]
    if len(kept) < len(layout.get("annotations", ())):
        foot = (layout.get("meta") or {}).get("foot", 0)
        layout["annotations"] = kept
        layout["height"] -= foot
        layout["margin"]["b"] -= foot
    return go.Figure(spec)


def settled(field: str, options: Sequence[str]) -> None:
    """Where a field of the view is none of what a page has, the first is looked at; with a word
    on it where an address said so."""
    given = getattr(state.current(), field)
    if given in options:
        return
    if given and state.taken():
        st.warning(plain(f"In the {state.where()}: {unknown(field, given, options[0])}"))
    state.change(**{field: options[0]})


def empty(message: str, command: str) -> None:
    """Nothing to show yet: why, and the command that makes it."""
    st.info(plain(message))
    st.code(command, language=None)


def trouble(error: WorkbenchError) -> None:
    """What went wrong, in its own words: they say what to do."""
    st.error(plain(str(error)))


def plain(said: str) -> str:
    """Data for an element that reads Markdown (labels, options, captions): on one line, every
    character that means something escaped, and what is read after escapes kept apart."""
    special = "\\`*_{}[]()<>#+-.!|~$:&"
    apart = REWRITTEN.sub(JOINER, visible(hidden(said)))
    return "".join(f"\\{char}" if char in special else char for char in apart)
