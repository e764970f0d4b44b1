"""My memories: a participant enters, reads, edits and deletes what is known of them, before use."""

from __future__ import annotations

from datetime import UTC, date, datetime

import streamlit as st

from parts import data, show, state
from reward_model import profile_store
from reward_model.profile_draft import Draft
from views import entries, profile
from workbench.errors import WorkbenchError

WHAT = """
Answers that use memories are only as good as the memories. Here you bring your own: have your
assistant write down what it knows of you, paste it, add what happened lately, then **read, correct
and delete** until you are content. Nothing is used before you say so at the end, and nothing leaves
this machine: it is kept in one file of the workspace folder, and deleted text is gone from it.
"""
LONGEST = 500_000


def page() -> None:
    st.title("My memories")
    st.markdown(WHAT)
    home = data.workspace()
    who = _who()
    if not who:
        st.info("Type a name or a code that stands for you, and press Enter.")
        return
    known = profile_store.drafts(home)
    draft = profile_store.open_draft(home, who) if who in known else Draft(participant=who)
    if said := state.kept("memories-said"):
        st.success(said)
        state.keep("memories-said", "")
    if home.read_only:
        st.caption("Read-only: memories can be read here, not entered, changed or deleted.")
    _state(draft)
    if not home.read_only:
        profile.brought(who, draft)
        _events(who)
    if draft.entries:
        entries.listed(who, draft)
    if not home.read_only and draft.entries:
        _confirm(who, draft)
        _discard(who)
    _log(draft)


def _who() -> str:
    """Whose memories: one of those that are here, or somebody new."""
    known = list(profile_store.drafts(data.workspace()))
    named = state.current().participant
    options = list(dict.fromkeys([*known, *([named] if named else [])]))
    key = "_bound_participant"
    arguments = state.bound("participant")
    st.session_state[key] = named or None
    st.selectbox(
        "Your name or code",
        options,
        accept_new_options=not state.read_only(),
        placeholder="Type a name or code, such as P07",
        help="A code is better than a name: it is written beside everything that is kept.",
        **arguments,
    )
    return state.current().participant.strip()


def _state(draft: Draft) -> None:
    flagged = sum(bool(entry.flags) for entry in draft.entries)
    numbers = (
        ("Memories", len(draft.memories)),
        ("Recent queries", len(draft.queries)),
        ("To look at again", flagged),
    )
    columns = st.columns(4)
    for column, (label, number) in zip(columns, numbers, strict=False):
        column.metric(label, number)
    when = "not yet" if draft.confirmed is None else f"{draft.confirmed:%d %b %Y, %H:%M} UTC"
    columns[3].metric("You agreed to their use", when)


def _events(who: str) -> None:
    """What happened lately, typed in."""
    with st.expander("2. Add what happened lately"):
        st.markdown(
            "One event a line, about thirty are enough. A day in front is understood "
            "(“4 March 2026: …”), and so is “last Friday”, counted from the day below."
        )
        st.text_area(
            "Events",
            height=140,
            max_chars=LONGEST,
            placeholder="Last Friday: tried the new climbing hall, and liked it.",
            **state.kept_as("events-text"),
        )
        st.date_input("Written on", **state.kept_as("events-day", _today()))
        st.button(
            "Add them",
            type="primary",
            disabled=not state.kept("events-text").strip(),
            on_click=_add,
            args=(who,),
        )
        if trouble := state.kept("events-trouble"):
            st.error(show.plain(trouble))


def _add(who: str) -> None:
    day = state.kept("events-day", _today())
    home = data.workspace()
    try:
        draft = profile_store.add_events(home, who, state.kept("events-text"), day)
    except WorkbenchError as error:
        state.keep("events-trouble", str(error))
        return
    number = sum(entry.kind == "event" for entry in draft.entries)
    state.keep("events-trouble", "")
    state.keep("events-text", "")
    state.keep("memories-said", f"Added: there are {number} events now.")


def _confirm(who: str, draft: Draft) -> None:
    st.subheader("4. Agree to their use")
    if draft.confirmed is not None:
        st.success(
            "You looked through your memories and agreed to their use. Any change takes that back."
        )
        return
    flagged = sum(bool(entry.flags) for entry in draft.entries)
    if flagged:
        st.warning(f"{flagged} entries are still flagged. Edit or delete them, or leave them.")
    st.checkbox(
        "I have read them all, and may be shown answers that use them",
        **state.kept_as("memories-read", False),
    )
    st.button(
        "Agree",
        type="primary",
        disabled=not state.kept("memories-read", False) or not draft.memories,
        on_click=_agreed,
        args=(who,),
    )


def _agreed(who: str) -> None:
    try:
        profile_store.confirm(data.workspace(), who)
    except WorkbenchError as error:
        state.keep("memories-said", show.plain(str(error)))
    state.keep("memories-read", False)


def _discard(who: str) -> None:
    with st.expander("Delete everything of mine"):
        st.checkbox(
            "Delete my profile, my events and my agreement, for good",
            **state.kept_as("memories-sure", False),
        )
        st.button(
            "Delete all",
            disabled=not state.kept("memories-sure", False),
            on_click=_gone,
            args=(who,),
        )


def _gone(who: str) -> None:
    profile_store.discard_draft(data.workspace(), who)
    state.keep("memories-sure", False)
    state.keep("profile-found", ("", ()))
    state.keep("memories-said", "Everything was deleted.")
    state.change(participant="")


def _log(draft: Draft) -> None:
    if draft.log:
        with st.expander("What was done when (no text of yours is in it)"):
            for line in draft.log:
                show.text(line)


def _today() -> date:
    return datetime.now(UTC).astimezone().date()
