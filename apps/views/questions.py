"""The list of a data set's questions: searched, filtered by what the prior does to each, paged."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import streamlit as st

from parts import data, show, state
from views import run_classes
from views.question_filters import LOST, PAGE, anew, draw, filtered
from workbench.datasets.report import Dataset
from workbench.view import View

__all__ = ["filtered", "labels", "listed", "page_of", "questions", "settle", "table_of"]

ROWS = 8  # questions to a page
CUT = 140  # characters of a question in the list


def table_of(dataset: Dataset) -> pl.DataFrame:
    """Every question, in the data set's order: `question, scope, people, category, text`."""
    asked = dataset.questions
    return pl.DataFrame(
        {
            "question": [q.id for q in asked],
            "scope": [q.scope for q in asked],
            "people": [list(q.people) for q in asked],
            "category": [q.category for q in asked],
            "text": [q.text for q in asked],
        },
        schema_overrides={"people": pl.List(pl.String)},
    )


def page_of(frame: pl.DataFrame, page: int) -> tuple[pl.DataFrame, int, int]:
    """The rows of a page (counted from 0, kept within what there is), its number, and how many
    pages there are."""
    pages = max(1, math.ceil(len(frame) / ROWS))
    page = min(max(page, 0), pages - 1)
    return frame.slice(page * ROWS, ROWS), page, pages


def listed(frame: pl.DataFrame, view: View) -> None:
    """Draw the filters and a page of the list; choosing a question changes the view.

    `frame` has every question, with its effects where they are measured.
    """
    draw(frame, view)
    kept = filtered(frame, view)
    rows, page, pages = page_of(kept, st.session_state.get(PAGE, 0))
    st.session_state[PAGE] = page
    _count(kept, frame)
    if not len(kept):
        st.info("No question is left by these filters. Widen them, or ask your own above.")
        return
    _choice(rows, view)
    _turning(page, pages)


def _count(kept: pl.DataFrame, frame: pl.DataFrame) -> None:
    st.caption(f"{len(kept):,} of {len(frame):,} questions")


def _choice(rows: pl.DataFrame, view: View) -> None:
    names = labels(rows)
    key = "_question_listed"
    state.hold(key, view.question if view.question in names else None)

    def changed() -> None:
        if st.session_state[key] is not None:
            state.change(question=st.session_state[key], turn="")

    st.radio(
        "Questions",
        list(names),
        format_func=lambda one: show.plain(names[one]),
        captions=[show.plain(_remark(row)) for row in rows.iter_rows(named=True)],
        key=key,
        on_change=changed,
    )


def labels(rows: pl.DataFrame) -> dict[str, str]:
    """What each question of a page is called, by id. No two alike: the browser tells a choice by
    its label, and the same words may be asked by two people, or twice."""
    found: dict[str, str] = {}
    for row in rows.iter_rows(named=True):
        name = f"{' & '.join(row['people'])}: {_cut(row['text'])}"
        taken = name in found.values()
        found[row["question"]] = f"{name} ({row['question']})" if taken else name
    return found


def _remark(row: dict[str, Any]) -> str:
    """What a line of the list says of its question."""
    lost = f" · {row[LOST]}" if row.get(LOST) else ""
    return f"{_effect(row)}{lost}"


def _effect(row: dict[str, Any]) -> str:
    if "effect" not in row:
        return str(row["category"])
    if row["effect"] is None:
        return f"{row['category']} · no evidence to find"
    if row["effect"] == "unchanged":
        return f"{row['category']} · finds {row['having']:.0%} of the evidence either way"
    return f"{row['category']} · {row['effect']}: {row['without']:.0%} → {row['having']:.0%} found"


def _turning(page: int, pages: int) -> None:
    if pages == 1:
        return
    before, where, after = st.columns([1, 1.2, 1], vertical_alignment="center")
    before.button("Earlier", disabled=page == 0, on_click=_turn, args=(-1,), width="stretch")
    where.caption(f"page {page + 1:,} of {pages:,}", text_alignment="center")
    after.button("Later", disabled=page + 1 == pages, on_click=_turn, args=(1,), width="stretch")


def _turn(step: int) -> None:
    st.session_state[PAGE] = st.session_state.get(PAGE, 0) + step


def _cut(text: str) -> str:
    return text if len(text) <= CUT else text[: CUT - 1] + "…"


def questions() -> pl.DataFrame:
    """The questions of the session's data set, with effects where its memories are built."""
    view = state.current()
    frame = _table(view.dataset, data.version(view.dataset))
    if run_classes.tells(view.run, view.dataset):
        lost = run_classes.classes(view.run)
        if lost is not None:
            classes = lost.frame.select("question", pl.col("class").alias(LOST))
            frame = frame.join(classes, on="question", how="left", maintain_order="left")
    if not data.measurable(view):
        return frame
    told = data.effects_of(view).select(
        "question", "without", "having", "change", "effect", "missed"
    )
    return frame.join(told, on="question", how="left", maintain_order="left")


def settle() -> str:
    """The question that is shown. It stays when a knob takes it out of the list; where there is
    none, or the filters were changed and it is not among what they leave, it is the first left."""
    view = state.current()
    if not anew() and view.question:
        return view.question
    left = filtered(questions(), view)
    if view.question and view.question in left["question"]:
        return view.question
    found = str(left["question"][0]) if len(left) else view.question
    state.change(question=found, turn="")
    return found


@st.cache_resource(max_entries=8, show_spinner=False)
def _table(dataset: str, version: str) -> pl.DataFrame:
    return table_of(data.dataset(dataset))
