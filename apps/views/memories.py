"""My memories: a participant enters, reads, edits and deletes what is known of them, before use."""

from __future__ import annotations

from datetime import UTC, date, datetime

import streamlit as st

from parts import data, redaction, show, state
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
    # Before anybody is chosen: what was said to one participant is not said to the next.
    _said()
    who = _who()
    if not who:
        st.info("Type a name or a code that stands for you, and press Enter.")
        return
    known = profile_store.drafts(home)
    draft = profile_store.open_draft(home, who) if who in known else Draft(participant=who)
    _state(draft)
    if home.read_only:
        st.caption("Read-only: how much there is of everybody is shown, and no text of theirs.")
        return
    profile.brought(who, draft)
    _events(who)
    if draft.entries:
        entries.listed(who, draft)
        _confirm(who, draft)
        _discard(who, draft)
    _log(draft)


def _said() -> None:
    """What the last click did, or why it did nothing; once."""
    if said := state.kept("memories-said"):
        st.success(said)
    if trouble := state.kept("memories-trouble"):
        st.warning(show.plain(trouble))
    for name in ("memories-said", "memories-trouble"):
        state.keep(name, "")


def _who() -> str:
    """Whose memories: one of those that are here, or somebody new."""
    known = list(profile_store.drafts(data.workspace()))
    named = state.current().participant
    options = list(dict.fromkeys([*known, *([named] if named else [])]))
    key = "_whose"
    state.hold(key, named or None)

    def changed() -> None:
        state.change(participant=(st.session_state[key] or "").strip())

    st.selectbox(
        "Your name or code",
        options,
        format_func=redaction.labels(options),
        accept_new_options=not state.read_only(),
        placeholder="Type a name or code, such as P07",
        help="A code is better than a name: it is written beside everything that is kept.",
        key=key,
        on_change=changed,
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
    text = state.mine(who, "events-text")
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
            **state.kept_as(text),
        )
        st.date_input("Written on", **state.kept_as(state.mine(who, "events-day"), _today()))
        st.button(
            "Add them",
            type="primary",
            disabled=not state.kept(text).strip(),
            on_click=_add,
            args=(who,),
        )
        if trouble := state.kept(state.mine(who, "events-trouble")):
            st.error(show.plain(trouble))


def _add(who: str) -> None:
    text, trouble = state.mine(who, "events-text"), state.mine(who, "events-trouble")
    day = state.kept(state.mine(who, "events-day"), _today())
    try:
        draft = profile_store.add_events(data.workspace(), who, state.kept(text), day)
    except WorkbenchError as error:
        state.keep(trouble, str(error))
        return
    number = sum(entry.kind == "event" for entry in draft.entries)
    state.keep(trouble, "")
    state.keep(text, "")
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
    # Of this draft as it is shown: an entry more, and nobody has read them all.
    read = state.mine(who, f"memories-read {draft.content}")
    st.checkbox(
        "I have read them all, and may be shown answers that use them",
        **state.kept_as(read, False),
    )
    st.button(
        "Agree",
        type="primary",
        disabled=not state.kept(read, False) or not draft.memories,
        on_click=_agreed,
        args=(who, draft.content),
    )


def _agreed(who: str, shown: str) -> None:
    try:
        profile_store.confirm(data.workspace(), who, shown)
    except WorkbenchError as error:
        state.keep("memories-trouble", str(error))
    state.forget(state.mine(who, "memories-read"))


def _discard(who: str, draft: Draft) -> None:
    sure = state.mine(who, f"memories-sure {draft.content}")
    with st.expander("Delete everything of mine"):
        st.checkbox(
            "Delete my profile, my events and my agreement, for good",
            **state.kept_as(sure, False),
        )
        st.button(
            "Delete all",
            disabled=not state.kept(sure, False),
            on_click=_gone,
            args=(who,),
        )


def _gone(who: str) -> None:
    profile_store.discard_draft(data.workspace(), who)
    state.forget(state.mine(who))
    state.keep("memories-said", "Everything was deleted.")
    state.change(participant="")


def _log(draft: Draft) -> None:
    if draft.log:
        with st.expander("What was done when (no text of yours is in it)"):
            for line in draft.log:
                show.text(line)


def _today() -> date:
    return datetime.now(UTC).astimezone().date()
