"""Single questions of a run: what they say, and the way to the Retrieval page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from parts import data, show, state
from views import run_classes
from workbench.datasets.report import Dataset
from workbench.runs import Run
from workbench.schema import Question
from workbench.usable import dataset_names

__all__ = ["KNOBS", "asked", "dataset", "opening", "page_of"]

# The settings that the Retrieval page can take over from a run.
KNOBS = ("memories", "embedder", "retriever", "prior", "lam", "k", "boost")


def dataset(run: Run) -> Dataset | None:
    """The data set that a run is of, where it is here; runs of the reward model are of none."""
    name = run_classes.dataset_of(run.manifest)
    if name not in dataset_names(data.workspace()) or run.manifest["kind"].startswith("reward-"):
        return None
    return data.dataset(name)


def asked(run: Run) -> dict[str, Question]:
    """The questions of a run's data set by id; none where it is not here."""
    known = dataset(run)
    return {} if known is None else _by_id(known.name, data.version(known.name))


def page_of(name: str, number: int, rows: int) -> int:
    """Which page of a table is open, from 0; a field to turn them where there are several."""
    pages = max(1, -(-number // rows))
    state.keep(name, min(int(state.kept(name, 1)), pages))
    if pages > 1:
        narrow = st.columns([1, 3])[0]
        narrow.number_input(f"Page (of {pages:,})", 1, pages, step=1, **state.kept_as(name, 1))
    return int(state.kept(name, 1)) - 1


def opening(key: str, run: Run, questions: Sequence[str], texts: Mapping[str, str]) -> None:
    """Choose one of some questions, and leave for it, with the settings of the run."""
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    hide = show.hiding()
    named = [one for one in questions if one in texts]
    chosen = left.selectbox(
        "Look at a question of this page",
        named,
        format_func=lambda one: hide(f"{texts[one][:120]} · {one}"),
        **state.kept_among(f"{key}-question", named, named[0]),
    )
    if right.button("Open in Retrieval", width="stretch", key=f"_open_{key}"):
        recipe = run.manifest["identity"].get("recipe") or {}
        knobs = {name: recipe[name] for name in KNOBS if name in recipe}
        plain = dict.fromkeys(("scope", "user", "search", "category", "effect", "lost", "turn"), "")
        name = run_classes.dataset_of(run.manifest)
        state.change(dataset=name, question=chosen, run=run.id, **knobs, **plain)
        state.go("retrieval")


@st.cache_resource(max_entries=8, show_spinner=False)
def _by_id(name: str, version: str) -> dict[str, Question]:
    return {question.id: question for question in data.dataset(name).questions}
