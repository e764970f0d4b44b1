"""Runs of GRPO: what each α would choose among given rewrites, and searching with what was
learnt."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from parts import data, picking, show, state
from views import run_questions, run_table
from workbench.alpha_landscape import table_of
from workbench.alpha_report import choice_words
from workbench.alpha_table import AlphaTable
from workbench.report import Table
from workbench.runs import Run
from workbench.scenes.sweeps import landscape_at
from workbench.usable import dataset_names

__all__ = ["DRAWN"]

ALPHA, PAPER_ALPHA = "runs-alpha", 0.2  # a reference, where the paper reports its best
POOL = "pool.parquet"


def _landscape(run: Run) -> None:
    """The α slider: what an α chooses by gold, and the questions whose words it changes. What is
    said of the run, above and below it, says that this is a ceiling and no training."""
    st.slider(
        "α: weight of the answer’s reward",
        0.0,
        1.0,
        step=0.05,
        help="R = α · answer + (1 − α) · retrieval, both on one scale. The paper reports its best "
        "at 0.2: a reference.",
        **state.kept_as(ALPHA, PAPER_ALPHA),
    )
    alpha = round(float(state.kept(ALPHA, PAPER_ALPHA)), 6)
    show.figure(landscape_at(data.workspace(), run, alpha), "run_landscape")
    if POOL not in run.manifest["files"]:
        return
    pool = _pool(str(data.workspace().root), run.id)
    show.text(choice_words(run.manifest["report"], pool, alpha))
    changed = pool.changed(alpha).select(
        "question", "asked", "chosen", "recall_asked", "recall", "f1_asked", "f1"
    )
    if len(changed):
        title = f"Questions that gold words otherwise at α = {alpha:g}, the most helped first"
        run_table.of(Table("changed", title, changed))
    else:
        st.caption("No question takes another wording there.")


def _training(run: Run) -> None:
    """The curves, and the way to the Retrieval page with what was learnt."""
    show.figure(run_table.findings_of(run.id).figures["training"], "run_training")
    st.subheader("Search with what was learnt")
    labels = data.rewriters()
    # The best by F1, by recall, the warm start, and the base model at last.
    mine = sorted(name for name in labels if name.partition(":")[2].startswith(f"{run.id}-"))
    if not mine:
        st.caption("Its checkpoints are not in this workspace any more.")
        return
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    hide = show.hiding()
    chosen = left.selectbox(
        "Rewriter",
        mine,
        format_func=lambda name: hide(labels[name]),
        **state.kept_among(f"runs-rewriter-{run.id}", mine, mine[0]),
    )
    dataset = str(run.manifest["identity"].get("dataset", ""))
    here = dataset in dataset_names(data.workspace())
    if right.button("Open in Retrieval", width="stretch", key="_open_rewriter", disabled=not here):
        recipe = run.manifest["identity"].get("recipe") or {}
        knobs = {name: recipe[name] for name in run_questions.KNOBS if name in recipe}
        others = picking.OF_A_DATASET
        state.change(dataset=dataset, rewriter=chosen, **knobs, **others)
        state.go("retrieval")
    st.caption("In a terminal, in this workspace:")
    st.code(f"workbench recall {dataset} --rewriter {chosen}", language=None)


@st.cache_resource(max_entries=4, show_spinner="Reading the rewrites …")
def _pool(root: str, run: str) -> AlphaTable:
    return table_of(data.workspace(), run)


# What draws a kind of run's own part, and the figures that it draws itself.
DRAWN: dict[str, tuple[frozenset[str], Callable[[Run], None]]] = {
    "sweep-alpha": (frozenset({"landscape"}), _landscape),
    "train": (frozenset({"training"}), _training),
}
