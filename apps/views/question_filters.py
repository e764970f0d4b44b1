"""What narrows the list of questions: words, a category, what the prior does, where a run lost
them."""

from __future__ import annotations

import polars as pl
import streamlit as st

from parts import show, state
from views import run_classes
from workbench.attribution import CLASSES
from workbench.view import View

__all__ = ["LOST", "PAGE", "anew", "draw", "filtered"]

NAMES = {"": "all", "helped": "helped", "hurt": "hurt", "unchanged": "same", "missed": "missed"}
LOST = "lost"  # the column with classes of error
PAGE, NARROWED = "_questions_page", "_questions_narrowed"


def filtered(frame: pl.DataFrame, view: View) -> pl.DataFrame:
    """The questions that a view's filters leave, those of `effects` joined; where the effect is
    asked for, the largest come first."""
    kept = frame
    if view.user:
        kept = kept.filter(pl.col("scope") == view.scope, pl.col("people").list.contains(view.user))
    elif view.scope:
        kept = kept.filter(pl.col("scope") == view.scope)
    if view.category:
        kept = kept.filter(pl.col("category") == view.category)
    if view.search.strip():
        wanted = view.search.strip().lower()
        kept = kept.filter(
            pl.any_horizontal(
                pl.col(name).str.to_lowercase().str.contains(wanted, literal=True)
                for name in ("text", "question")
            )
        )
    if view.lost and LOST in kept.columns:
        kept = kept.filter(pl.col(LOST) == view.lost)
    if "effect" not in kept.columns or not view.effect:
        return kept
    if view.effect == "missed":
        return kept.filter(pl.col("missed"))
    kept = kept.filter(pl.col("effect") == view.effect)
    return kept.sort(pl.col("change").abs(), descending=True, maintain_order=True)


def draw(frame: pl.DataFrame, view: View) -> None:
    """The filters; what they leave is counted beside them."""
    st.text_input(
        "Search the questions",
        placeholder="a word, or a question’s id",
        **state.bound("search", _narrowed),
    )
    categories = ["", *frame["category"].unique(maintain_order=True)]
    st.selectbox(
        "Category",
        categories,
        format_func=lambda name: name or "all categories",
        **state.bound("category", _narrowed),
    )
    _effects(frame, view)
    _lost(frame, view)


def _effects(frame: pl.DataFrame, view: View) -> None:
    if "effect" not in frame.columns:
        return
    counts = {effect: len(filtered(frame, view.but(effect=effect))) for effect in NAMES}
    st.segmented_control(
        "What the profile does",
        list(NAMES),
        format_func=lambda effect: f"{NAMES[effect]} {counts[effect]:,}",
        help="Whether more (helped) or less (hurt) of the evidence is among the first K memories "
        "with the profile prior than with the question alone. Missed: evidence is absent from "
        "the first K even with the prior.",
        **state.bound("effect", _narrowed),
    )


def _lost(frame: pl.DataFrame, view: View) -> None:
    """Where a run of this data set lost its questions, if there is such a run."""
    named = run_classes.named_runs(view.dataset)
    if not named:
        return
    key, chosen = "_run_of_errors", view.run if view.run in named else ""
    state.hold(key, chosen)
    hide = show.hiding()

    def changed() -> None:
        state.change(run=st.session_state[key] or "", lost="")
        _narrowed()

    st.selectbox(
        "Where this run lost them",
        ["", *named],
        format_func=lambda run: hide(named[run]) if run else "no run",
        key=key,
        on_change=changed,
        help="A run of answers, or of evidence recall: each of its questions was lost in memory, "
        "in retrieval, or in the answer. Make one with: workbench evaluate NAME",
    )
    if not chosen:
        return
    if LOST not in frame.columns:
        st.caption("Of this run that cannot be told here: see Runs, Errors.")
        return
    counts = {lost: len(filtered(frame, view.but(lost=lost))) for lost in ("", *CLASSES)}
    st.selectbox(
        "Class of error",
        [lost for lost, n in counts.items() if n or lost in ("", view.lost)],
        format_func=lambda lost: f"{lost or 'all'} ({counts[lost]:,})",
        **state.bound("lost", _narrowed),
    )


def _narrowed() -> None:
    """A filter has changed: the list begins anew, and shows one of its own questions."""
    st.session_state[NARROWED] = True
    st.session_state[PAGE] = 0


def anew() -> bool:
    """Whether a filter has changed since this was asked before."""
    return bool(st.session_state.pop(NARROWED, False))
