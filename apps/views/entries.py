"""A participant's entries, a page at a time, each to be edited or deleted."""

from __future__ import annotations

import streamlit as st

from parts import data, show, state
from reward_model import profile_store
from reward_model.profile_draft import Draft, Entry
from workbench.errors import WorkbenchError

__all__ = ["listed"]

PAGE = 15
KINDS = {
    "all": "All",
    "flagged": "To look at again",
    "fact": "Facts",
    "activity": "Activities",
    "tag": "Tags",
    "event": "Events",
    "query": "Queries",
}
LONGEST = 1_000


def listed(who: str, draft: Draft) -> None:
    """The entries of the kind that is asked for."""
    st.subheader("3. Read, correct, delete")
    st.markdown(
        "*Inferred* marks what your assistant concluded by itself. An edit leaves nothing of the "
        "text before it."
    )
    wanted = _filter(draft)
    found = [entry for entry in draft.entries if _is(entry, wanted)]
    if not found:
        st.info("None of this kind.")
        return
    place = _turned(len(found))
    for entry in found[place * PAGE : (place + 1) * PAGE]:
        _row(who, entry)


def _filter(draft: Draft) -> str:
    counts = {kind: sum(_is(entry, kind) for entry in draft.entries) for kind in KINDS}
    options = [kind for kind, number in counts.items() if number or kind == "all"]
    if state.kept("entries-kind", "all") not in options:
        state.keep("entries-kind", "all")
    st.segmented_control(
        "Show",
        options,
        format_func=lambda kind: f"{KINDS[kind]} ({counts[kind]})",
        **state.kept_as("entries-kind", "all"),
    )
    return state.kept("entries-kind", "all") or "all"


def _is(entry: Entry, kind: str) -> bool:
    return kind in ("all", entry.kind) or (kind == "flagged" and bool(entry.flags))


def _turned(number: int) -> int:
    """Which page of the list is open, from 0."""
    pages = -(-number // PAGE)
    place = min(int(state.kept("entries-page", 0)), pages - 1)
    if pages == 1:
        return 0
    back, said, on = st.columns([1, 2, 1], vertical_alignment="center")
    back.button("‹ Earlier", disabled=not place, on_click=_turn, args=(place - 1,))
    said.caption(f"{place * PAGE + 1} to {min(number, (place + 1) * PAGE)} of {number}")
    on.button("Later ›", disabled=place == pages - 1, on_click=_turn, args=(place + 1,))
    return place


def _turn(place: int) -> None:
    state.keep("entries-page", place)


def _row(who: str, entry: Entry) -> None:
    """One entry: its text, what it is, what to look at, and what can be done."""
    with st.container(border=True):
        body, buttons = st.columns([4, 1.3], gap="small")
        with body:
            show.text(entry.text)
            marks = [entry.kind.capitalize()]
            marks += [f"on {entry.time:%d %b %Y}"] if entry.time else []
            marks += [name for name in ("inferred", "custom", "edited") if getattr(entry, name)]
            st.html(f'<div class="quiet">{show.escaped(" · ".join([*marks, entry.where]))}</div>')
            for flag in entry.flags:
                st.html(f'<div class="flag">⚑ {show.escaped(flag)}</div>')
        doing = state.kept(state.mine(who, "entry-doing"))
        if doing == f"edit {entry.id}":
            _edit(who, entry)
        elif doing == f"delete {entry.id}":
            _delete(who, entry)
        else:
            _offer(who, entry, buttons)


def _offer(who: str, entry: Entry, buttons: st.delta_generator.DeltaGenerator) -> None:
    row = buttons.container(horizontal=True)
    for verb, icon in (("Edit", ":material/edit:"), ("Delete", ":material/delete:")):
        row.button(
            verb,
            key=f"{verb}-{entry.id}",
            icon=icon,
            type="tertiary",
            on_click=_begin,
            args=(who, verb.lower(), entry),
        )


def _edit(who: str, entry: Entry) -> None:
    st.text_area(
        f"New text of {entry.id}",
        max_chars=LONGEST,
        label_visibility="collapsed",
        **state.kept_as(state.mine(who, "entry-text")),
    )
    first, second = st.columns(2)
    first.button("Save the text", type="primary", on_click=_saved, args=(who, entry))
    second.button("Leave it as it was", on_click=_begin, args=(who, "", entry))
    if trouble := state.kept(state.mine(who, "entry-trouble")):
        st.error(show.plain(trouble))


def _delete(who: str, entry: Entry) -> None:
    first, second = st.columns(2)
    first.button("Delete it for good", type="primary", on_click=_deleted, args=(who, entry))
    second.button("Keep it", on_click=_begin, args=(who, "", entry))


def _begin(who: str, what: str, entry: Entry) -> None:
    """Open an entry's row for something, or close it."""
    state.forget(state.mine(who, "entry-"))
    if what:
        state.keep(state.mine(who, "entry-doing"), f"{what} {entry.id}")
        state.keep(state.mine(who, "entry-text"), entry.text)


def _saved(who: str, entry: Entry) -> None:
    text = state.kept(state.mine(who, "entry-text"))
    try:
        profile_store.edit_entry(data.workspace(), who, entry.id, text)
    except WorkbenchError as error:
        state.keep(state.mine(who, "entry-trouble"), str(error))
        return
    _begin(who, "", entry)


def _deleted(who: str, entry: Entry) -> None:
    try:
        profile_store.delete_entries(data.workspace(), who, [entry.id])
    except WorkbenchError as error:
        state.keep("memories-trouble", str(error))
    _begin(who, "", entry)
