"""Memories as cards: text, whose, when, what they rest on; filtered, paged, opened in the
dialogue."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import streamlit as st

from parts import show, state
from parts.show import literal
from views import dialogue
from workbench.bank_set import BankSet
from workbench.inspection import DIMENSIONS, LAYERS, memory_table

__all__ = ["browse", "cards", "listing", "matching", "table"]

ROWS = 15  # cards to a page
CUT = 400  # characters of a memory that are shown
KEPT_SOURCES = 6
OWN, EVERYBODY = "own", "everybody"


@st.cache_resource(max_entries=16, show_spinner=False)
def table(bank_set: str, scope: str, _banks: BankSet) -> pl.DataFrame:
    """`workbench.inspection.memory_table` of a scope, kept for all sessions."""
    return memory_table(_banks, scope)


def matching(frame: pl.DataFrame, layer: str, owner: str, words: str) -> pl.DataFrame:
    """The memories of a layer ("" for all) and a person ("" for all) whose text has the words."""
    kept = frame
    if layer:
        kept = kept.filter(pl.col("layer") == layer)
    if owner:
        kept = kept.filter(pl.col("owner") == owner)
    if words.strip():
        wanted = words.strip().lower()
        kept = kept.filter(pl.col("text").str.to_lowercase().str.contains(wanted, literal=True))
    return kept


def browse(frame: pl.DataFrame, user: str) -> None:
    """Filters over all memories of a scope, and a page of what is left."""
    first, second, third = st.columns([1, 1, 2], vertical_alignment="bottom")
    layer = first.selectbox(
        "Layer",
        ["", *LAYERS],
        format_func=lambda one: one or "all layers",
        **state.kept_as("memory-layer"),
    )
    hide = show.hiding()
    whose = second.selectbox(
        "Whose",
        [OWN, EVERYBODY],
        format_func=lambda one: hide(user) if one == OWN else "everybody’s",
        **state.kept_as("memory-whose", OWN),
    )
    words = third.text_input("Search the memories", **state.kept_as("memory-words"))
    cards("browse", matching(frame, layer or "", user if whose == OWN else "", words or ""))


def cards(key: str, frame: pl.DataFrame) -> None:
    """A page of memories (rows of `memory_table`), and the dialogue around one that is opened."""
    pages = max(1, math.ceil(len(frame) / ROWS))
    st.caption(f"{len(frame):,} memories")
    page = 1
    if pages > 1:
        kept = f"cards-page {key}"
        state.keep(kept, min(int(state.kept(kept, 1)), pages))
        page = st.number_input(f"Page (of {pages:,})", 1, pages, step=1, **state.kept_as(kept, 1))
    rows = frame.slice((page - 1) * ROWS, ROWS)
    listing(rows, _dimensions)
    _opening(key, rows)


def listing(rows: pl.DataFrame, remark: Callable[[Mapping[str, Any]], str]) -> None:
    """Memories as cards, with a remark on each."""
    made = "".join(_card(row, remark(row)) for row in rows.iter_rows(named=True))
    st.html(f'<ul class="facts">{made}</ul>')


def _opening(key: str, rows: pl.DataFrame) -> None:
    """Open a memory's first source in the dialogue, below the cards."""
    turns = {
        turn: row["text"]
        for row in rows.iter_rows(named=True)
        for turn in row["sources"][:KEPT_SOURCES]
    }
    if not turns:
        return
    view = state.current()
    kept, hide = f"_source_{key}", show.hiding()
    state.hold(kept, view.turn if view.turn in turns else None)
    st.selectbox(
        "Open a source in the dialogue",
        list(turns),
        format_func=lambda turn: hide(f"{turn}: {turns[turn][:100]}"),
        index=None,
        placeholder="choose a sentence to see it where it was said",
        key=kept,
        on_change=lambda: state.change(turn=st.session_state[kept] or ""),
    )
    if view.turn in turns:
        dialogue.read(view.scope, view.turn, [view.turn])


def _dimensions(row: Mapping[str, Any]) -> str:
    """What is known of tense, subjectivity and certainty."""
    return ", ".join(row[name] for name in DIMENSIONS if row[name] != "unknown")


def _card(row: Mapping[str, Any], remark: str) -> str:
    """One memory as HTML; everything from the data goes through `escaped`."""
    when = f"{row['time']:%d %b %Y}" if row["time"] else ""
    sources = ", ".join(row["sources"][:KEPT_SOURCES])
    more = len(row["sources"]) - KEPT_SOURCES
    about = [row["owner"], when, f"from {sources}{f' and {more} more' if more > 0 else ''}", remark]
    layer = row.get("layer", "episodic")
    return (
        f'<li class="fact {layer}"><div class="literal">{literal(row["text"], CUT)}</div>'
        f'<div class="quiet">{literal(" · ".join(filter(None, about)))}</div></li>'
    )
