"""Reading a dialogue: a window on its turns, which may be hundreds of thousands."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import streamlit as st

from parts import data, show, state
from parts.show import literal, marked
from workbench.schema import Turn

__all__ = ["Window", "read", "window"]

TURNS = 12  # turns shown at once
BEFORE = 3  # of them before the one that was opened
CUT = 600  # characters of a turn that are shown
PART = 20_000  # characters of a long turn that are shown at a time
START, WHOLE = "_dialogue_start", "_dialogue_whole"


class Window(NamedTuple):
    """Some turns of a scope, the place of the first among all of them (from 0), and how many
    there are in all."""

    turns: Sequence[Turn]
    start: int
    total: int


def window(turns: Sequence[Turn], start: int) -> Window:
    """The turns from `start` on, which is moved to where there are as many as fit."""
    start = max(0, min(start, len(turns) - TURNS))
    return Window(turns[start : start + TURNS], start, len(turns))


def read(
    scope: str, opened: str = "", evidence: Collection[str] = (), phrases: Collection[str] = ()
) -> None:
    """A window on a scope's dialogue, opened at a turn; evidence is marked, and in it `phrases`.

    Text is cut after 600 characters; the rest of a turn is a click away, in parts.
    """
    view = state.current()
    book = _book(view.dataset, data.version(view.dataset), scope)
    if not book.turns:
        st.info("Nothing is said in this conversation.")
        return
    shown = window(book.turns, _start((view.dataset, scope, opened), book.places.get(opened)))
    _moving(shown, book)
    rows = [_row(turn, opened, evidence, phrases) for turn in shown.turns]
    st.html(f'<div class="dialogue" role="list">{"".join(rows)}</div>')
    _long(shown.turns)


class _Book(NamedTuple):
    turns: tuple[Turn, ...]
    places: dict[str, int]
    sessions: dict[str, int]  # the place of each session's first turn


@st.cache_resource(max_entries=32, show_spinner=False)
def _book(dataset: str, version: str, scope: str) -> _Book:
    dialogues = [d for d in data.dataset(dataset).dialogues if d.scope == scope]
    turns = tuple(turn for dialogue in dialogues for turn in dialogue.turns)
    sessions: dict[str, int] = {}
    for place, turn in enumerate(turns):
        sessions.setdefault(turn.session, place)
    return _Book(turns, {turn.id: place for place, turn in enumerate(turns)}, sessions)


def _start(key: tuple[str, str, str], opened: int | None) -> int:
    """Where the window begins: where it was moved to, or a little before the turn opened."""
    kept: tuple[object, int] | None = st.session_state.get(START)
    if kept is None or kept[0] != key:
        kept = (key, max(0, (opened or 0) - BEFORE))
        st.session_state[START] = kept
    return kept[1]


def _moving(shown: Window, book: _Book) -> None:
    before, after, jump = st.columns([1, 1, 3], vertical_alignment="bottom")
    last = shown.start + len(shown.turns)
    before.button(
        "Earlier turns",
        disabled=shown.start == 0,
        on_click=_move,
        args=(shown.start - TURNS,),
        width="stretch",
    )
    after.button(
        "Later turns",
        disabled=last == shown.total,
        on_click=_move,
        args=(last,),
        width="stretch",
    )
    current = shown.turns[0].session
    state.hold("_session_read", current)

    def jumped() -> None:
        _move(book.sessions[st.session_state["_session_read"]])

    jump.selectbox("Session", list(book.sessions), key="_session_read", on_change=jumped)
    st.caption(f"turns {shown.start + 1:,}-{last:,} of {shown.total:,}")


def _move(start: int) -> None:
    st.session_state[START] = (st.session_state[START][0], start)


def _row(turn: Turn, opened: str, evidence: Collection[str], phrases: Collection[str]) -> str:
    """One turn as HTML; everything from the data goes through `escaped`."""
    is_evidence = turn.id in evidence
    kinds = [
        "turn",
        *(["evidence"] if is_evidence else []),
        *(["open"] if turn.id == opened else []),
    ]
    when = f"{turn.time:%d %b %Y, %H:%M}" if turn.time else ""
    about = " · ".join(filter(None, (literal(when), literal(turn.id))))
    star = f'<b class="star">{show.MARK} evidence</b>' if is_evidence else ""
    said = marked(turn.text, phrases if is_evidence or turn.id == opened else (), CUT)
    caption = (
        f'<div class="quiet">picture: {literal(turn.caption, CUT)}</div>' if turn.caption else ""
    )
    return (
        f'<div class="{" ".join(kinds)}" role="listitem"><div class="who">'
        f'<b>{literal(turn.speaker)}</b> <span class="quiet">{about}</span> {star}</div>'
        f'<div class="literal">{said}</div>{caption}</div>'
    )


def _long(turns: Sequence[Turn]) -> None:
    """The rest of turns that were cut, a part at a time."""
    cut = [turn for turn in turns if len(turn.text) > CUT]
    for turn in cut:
        if st.button(
            show.plain(f"Show all of {turn.id} ({len(turn.text):,} characters)"),
            key=f"_whole_{turn.id}",
        ):
            st.session_state[WHOLE] = turn.id
    whole = next((turn for turn in cut if turn.id == st.session_state.get(WHOLE)), None)
    if whole is None:
        return
    parts = -(-len(whole.text) // PART)
    part = 1
    if parts > 1:
        part = st.number_input(f"Part, of {parts:,}", 1, parts, 1, key=f"_part_{whole.id}")
    show.text(whole.text[(part - 1) * PART : part * PART])
