"""Choosing a data set and a person: the same on every page that is about somebody's memories."""

from __future__ import annotations

from typing import Any

import streamlit as st

from parts import data, show, state
from workbench.datasets.store import SAMPLE
from workbench.library import build_command, by_model
from workbench.usable import dataset_names, people_of

__all__ = ["OF_A_DATASET", "choose_dataset", "choose_user", "unbuilt"]

EVERYBODY = ("", "")
# What belongs to one data set and means nothing in another.
OF_A_DATASET: dict[str, Any] = dict.fromkeys(
    ("scope", "user", "question", "search", "category", "effect", "lost", "turn"), ""
)


def choose_dataset() -> None:
    """The data set; those of the workspace, and the bundled sample."""
    st.selectbox(
        "Data set",
        dataset_names(data.workspace()),
        format_func=lambda name: f"{name} (bundled)" if name == SAMPLE else name,
        help="Import more with: workbench import FILE",
        **state.bound("dataset", **OF_A_DATASET),
    )


def choose_user(anybody: str | None = None) -> None:
    """The person whose memories and profile are looked at. `anybody` names the choice of nobody
    in particular, where a page has one; without it, the first person is chosen."""
    view = state.current()
    people = people_of(data.dataset(view.dataset))
    options = [*([EVERYBODY] if anybody is not None else []), *people]
    if not options:
        return
    chosen = (view.scope, view.user)
    if chosen not in options:
        # A scope without a person, or nobody yet where somebody is needed.
        chosen = next((pair for pair in options if pair[0] == view.scope), options[0])
        state.change(scope=chosen[0], user=chosen[1])
    several = len({scope for scope, _ in people}) > 1
    hide = show.hiding()

    def named(pair: Any) -> str:
        if pair == EVERYBODY:
            return anybody or ""
        named_so = f"{pair[1]} (in {pair[0]})" if several and pair[0] != pair[1] else pair[1]
        return hide(named_so)

    key = "_person"
    state.hold(key, chosen)

    def changed() -> None:
        scope, user = st.session_state[key] or EVERYBODY
        state.change(scope=scope, user=user, question="", turn="", search="")

    st.selectbox(
        "Person",
        options,
        format_func=named,
        key=key,
        on_change=changed,
        help="Whose questions, memories and profile. Everyone speaks under the name in the data.",
    )


def unbuilt() -> bool:
    """Say so, and how to make them, where the memories are not built; whether that is so."""
    view = state.current()
    if data.ready(view):
        return False
    why = (
        "a language model reads every session of it once"
        if by_model(view.memories)
        else "each text is turned into a vector once, which takes a while for so much of it"
    )
    show.empty(
        f"The memories of {view.dataset} ({view.memories}, {view.embedder}) have not been made "
        f"yet: {why}. Run this in a terminal, then load the page again.",
        build_command(view.dataset, view.memories, view.embedder),
    )
    return True
