"""Annotate: a participant says which of two answers is better, without knowing which is which."""

from __future__ import annotations

import time
from typing import Any

import streamlit as st

from parts import data, notes, redaction, show, state
from reward_model import collect
from reward_model.collection import Card, Collection
from reward_model.schema import Judgment
from views import study
from workbench.errors import WorkbenchError

WHAT = """
You see a question and two answers to it, **A** and **B**, and say which one you would rather have
got. One of them was written with memories of the person who asked; which one is not shown, and the
sides are drawn by lot. Go by what helps you, read both to the end, and use *about the same* where
that is so. Every judgment is saved on this machine at once; stop and come back whenever you like.
"""
SCALE: tuple[tuple[str, str, Judgment], ...] = (
    ("1", "A much better", "A much better"),
    ("2", "A slightly better", "A slightly better"),
    ("3", "About the same", "same"),
    ("4", "B slightly better", "B slightly better"),
    ("5", "B much better", "B much better"),
)
# Two answers cannot be read in less; what comes sooner is a double click, or a key held down.
LEAST_SECONDS = 1.0
LONGEST_NOTE = 4_000

Place = tuple[str, str]  # a collection, and a participant of it


def page() -> None:
    st.title("Annotate")
    st.markdown(WHAT)
    home = data.workspace()
    known = collect.collections(home)
    place = _choose(list(known)) if known else None
    if place is None:
        _nothing()
    elif home.read_only:
        _progress(collect.open_collection(home, *place))
        st.info("Read-only: the pairs are not shown and nothing can be judged here.")
    elif redaction.on():
        # An answer with its names replaced is another answer than the one that is judged.
        st.info(
            "Names are hidden on this screen, which would change the answers to be judged. To go "
            "on, show them again on the page *About the data*."
        )
    else:
        _judging(place, collect.open_collection(home, *place))


def _choose(names: list[str]) -> Place | None:
    """The collection and the participant, from the address where it names them."""
    view = state.current()
    if view.collection not in names:
        if view.collection:
            st.warning(show.plain(f"There is no collection named {view.collection!r} here."))
        state.change(collection=names[0])
    left, right = st.columns(2, gap="medium")
    left.selectbox("Collection", names, **state.bound("collection", participant=""))
    people = list(collect.participants(data.workspace(), state.current().collection))
    named = state.current().participant
    if named not in people:
        if named:
            st.warning(show.plain(f"{named!r} takes no part in this collection."))
            # Who withdrew elsewhere leaves no card and no note here either.
            state.forget(_held((view.collection, named)))
            notes.drop(view.collection, named)
        # Never somebody else in their place, not even where there is only one.
        state.change(participant="")
    options, hide = ["", *people], redaction.labels(people)
    right.selectbox(
        "You are",
        options,
        format_func=lambda one: hide(one) if one else "choose your name or code …",
        **state.bound("participant"),
    )
    view = state.current()
    if not view.participant:
        st.info("Choose your name or code above, and the first pair appears.")
        return None
    return view.collection, view.participant


def _judging(place: Place, collection: Collection) -> None:
    """The card at hand, the scale, and a note."""
    _progress(collection)
    if said := state.kept("judged-said"):
        st.info(said)
        state.keep("judged-said", "")
    card = _card(place, collection)
    if card is None:
        st.success("All pairs are judged. Thank you! You may close this page.")
        _undo(place, collection)
        return
    if any(item.comparison.synthetic for item in collection.plan.items):
        st.caption("For practice: these questions and answers are made up.")
    st.html(f'<div class="asked" role="heading" aria-level="2">{show.escaped(card.query)}</div>')
    for column, name, text in zip(
        st.columns(2, gap="medium"), ("A", "B"), (card.a, card.b), strict=True
    ):
        with column.container(border=True):
            st.markdown(f"### {name}")
            show.text(text)
    _scale(place, card)
    _note(place, card)
    _undo(place, collection)


def _progress(collection: Collection) -> None:
    done = collection.progress()
    share = done.judged / done.items if done.items else 1.0
    st.progress(share, f"{done.judged} of {done.items} pairs judged, {done.left} left")


def _card(place: Place, collection: Collection) -> Card | None:
    """The card that this session holds, or the next one: drawing starts the time."""
    held: Card | None = state.kept(_held(place), None)
    if held is None:
        held = collection.draw()
        state.keep(_held(place), held)
        state.keep("drawn", time.monotonic())
    return held


def _scale(place: Place, card: Card) -> None:
    """Five buttons and their keys. They belong to this display of this card (its token), so that
    the second click of a double one cannot fall on the next card's."""
    st.caption("Press the keys 1 to 5, or a button. In the note, keys are letters again.")
    with st.container(horizontal=True, key="scale"):
        for key, label, judgment in SCALE:
            st.button(
                label,
                key=f"judge-{card.token}-{key}",
                shortcut=key,
                width="stretch",
                on_click=_judge,
                args=(place, card, judgment),
            )


def _judge(place: Place, card: Card, judgment: Judgment) -> None:
    """Save a judgment and let the card go; what is too soon to be meant is not counted."""
    held: Card | None = state.kept(_held(place), None)
    if held is None or held.token != card.token:
        return
    if time.monotonic() - state.kept("drawn", 0.0) < LEAST_SECONDS:
        state.keep("judged-said", "That came within a second of the pair, so it was not counted.")
        return
    collection = collect.open_collection(data.workspace(), *place)
    try:
        collection.judge(card.item, card.token, judgment, notes.note_of((*place, card.item)))
    except WorkbenchError as error:
        state.keep("judged-said", f"Not counted: {show.plain(str(error))}")
    else:
        notes.write((*place, card.item), "")
    state.keep(_held(place), None)


def _note(place: Place, card: Card) -> None:
    """A note on the pair, kept while it is half written, through page changes and reloads."""
    key, own = f"note-{card.token}", (*place, card.item)
    st.session_state[key] = notes.note_of(own)

    def written() -> None:
        notes.write(own, st.session_state[key])

    st.text_area(
        "Why? (optional; saved with your judgment)",
        key=key,
        max_chars=LONGEST_NOTE,
        on_change=written,
        placeholder="What made the difference?",
        help="Please name nobody: notes are exported with the judgments.",
    )


def _undo(place: Place, collection: Collection) -> None:
    """Take back the last judgment: its pair comes again, with the note."""
    row = collection.last()
    st.button(
        "Take back the last judgment",
        key=f"undo-{row.token if row else ''}",
        disabled=row is None,
        shortcut="u",
        type="tertiary",
        on_click=_undone,
        args=(place, row),
    )


def _undone(place: Place, row: Any) -> None:
    collection = collect.open_collection(data.workspace(), *place)
    try:
        collection.undo(row.item, row.token)
    except WorkbenchError as error:
        state.keep("judged-said", f"Not taken back: {show.plain(str(error))}")
        return
    notes.write((*place, row.item), row.note)
    state.keep(_held(place), None)


def _nothing() -> None:
    """There is nothing to judge: how that is changed."""
    if collect.collections(data.workspace()):
        return
    show.empty(
        "There is nothing to judge yet. Try it with made-up pairs (the button below), or bring "
        "pairs of answers of your own: a file with participant, query, memories, both answers, "
        "their order, and no judgment. Or let a model write them, from what each person said in a "
        "data set or from a confirmed profile (--profile).",
        "workbench reward import PAIRS.csv --name study\n"
        "workbench reward pairs sample --into study --llm MODEL",
    )
    st.button(
        "Try it with twelve made-up pairs",
        type="primary",
        disabled=data.workspace().read_only,
        on_click=study.practise,
    )


def _held(place: Place) -> str:
    return state.mine(place[1], f"card {place[0]}")
