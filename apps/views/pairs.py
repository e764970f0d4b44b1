"""One pair of responses of a set: why the model says what it says."""

from __future__ import annotations

from typing import Any

import polars as pl
import streamlit as st

from parts import data, show, state
from reward_model.evaluate import predictions_of
from reward_model.figures import contribution_waterfall, model_passport
from reward_model.fitting import explain_comparison
from reward_model.rubric import RUBRIC
from reward_model.schema import Comparison
from views import judged
from views.judged import Evaluated
from workbench.run_list import named_scorer

__all__ = ["PREFERRED", "by_id", "explained", "parts"]

ONE = """
The model’s **log odds** for one pair as a sum: the base rate, then what each feature adds or
takes, the largest first. Bars to the right speak for the answer with memories. Log odds of 0 are a
toss-up, +1.1 is a probability of 75 %, −1.1 one of 25 %.
"""
OUTCOMES = ("all", "right", "wrong", "undecided")
PREFERRED = {True: "the answer with memories", False: "the answer without", None: "neither"}
WIDE = 760  # pixels of a figure with names and a legend


def explained(one: Evaluated) -> None:
    """Choose a pair of the set, read it, and see its log odds part by part."""
    st.subheader("One pair explained")
    st.markdown(ONE)
    found = _predictions(one.run)
    options = _choose(found)
    if not options:
        st.info("There is no such pair. Choose another outcome.")
        return
    named = state.current().comparison
    row = options.get(named) or next(iter(options.values()))
    comparison = by_id(one)[row["comparison"]]
    model = judged.model_of(one)
    told = explain_comparison(model, one.chosen, one.scores, comparison.id)
    _read(comparison)
    st.markdown(
        f"Judged: **{comparison.judgment or 'not judged'}**, so "
        f"{PREFERRED[told['prefers_memory']]} was preferred. Predicted for a person the "
        f"model had not seen: **{row['full']:.0%}** for the answer with memories. The sum below is "
        f"of the model fitted to everybody, "
        f"{'this pair included' if row['fitted'] else 'without this pair'}: "
        f"**{told['probability']:.0%}**."
    )
    show.figure(contribution_waterfall(told, model_passport(model.file_)), "waterfall", WIDE)
    with st.expander("The features of this pair in numbers"):
        st.caption(show.plain(f"Scored by {named_scorer(told['scorer'])}."))
        parts(told)


def _choose(found: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The pairs with the outcome that is asked for by id, the surest predictions first."""
    left, right = st.columns([1, 2], gap="medium")
    left.segmented_control(
        "The model was", OUTCOMES, format_func=str.capitalize, **state.kept_as("outcome", "all")
    )
    wanted = state.kept("outcome", "all") or "all"
    rows = found if wanted == "all" else found.filter(pl.col("outcome") == wanted)
    options = {row["comparison"]: row for row in rows.iter_rows(named=True)}
    hide = show.hiding()
    if options:
        if state.current().comparison in set(found["comparison"]) - set(options):
            # It is here, and its outcome is another one than is asked for: no mistake.
            state.change(comparison=next(iter(options)))
        show.settled("comparison", list(options))
        right.selectbox(
            f"Pair ({len(options):,}, the surest first)",
            list(options),
            format_func=lambda one: hide(_label(options[one])),
            help="Predictions are those for held-out participants. Type to search.",
            **state.bound("comparison"),
        )
    return options


def _label(row: dict[str, Any]) -> str:
    judged_so = PREFERRED[row["prefers_memory"]].removeprefix("the answer ")
    return f"{row['comparison']}: {row['full']:.0%} for memories; preferred: {judged_so}"


def _read(one: Comparison) -> None:
    """The texts of a pair, literally."""
    st.html(f'<div class="asked" role="heading" aria-level="3">{show.escaped(one.query)}</div>')
    made_up = " · made-up texts" if one.synthetic else ""
    show.text(f"{one.participant} · {one.regime} use of memories · by {one.generator}{made_up}")
    for column, title, text in zip(
        st.columns(2, gap="medium"),
        ("With memories", "Without memories"),
        (one.with_memory, one.without_memory),
        strict=True,
    ):
        with column.container(border=True):
            st.markdown(f"**{title}**")
            show.text(text)
    with st.expander(f"The {len(one.memories)} memories that the first answer was given"):
        for memory in one.memories:
            show.text(f"• {memory}")


def parts(told: dict[str, Any]) -> None:
    """The features of an explanation in numbers."""
    rows = [
        {
            "feature": part["feature"],
            "is": RUBRIC[part["feature"]].title if part["feature"] in RUBRIC else "",
            "value": part["value"],
            "standard deviations from the mean": part["standardised"],
            "weight": part["coef"],
            "adds to the log odds": part["contribution"],
        }
        for part in sorted(told["parts"], key=lambda part: -abs(part["contribution"]))
    ]
    st.dataframe(pl.DataFrame(rows), hide_index=True)


def by_id(one: Evaluated) -> dict[str, Comparison]:
    """The comparisons of the set."""
    return {comparison.id: comparison for comparison in one.chosen.comparisons}


@st.cache_resource(max_entries=8, show_spinner=False)
def _predictions(run: str) -> pl.DataFrame:
    return predictions_of(data.workspace(), run)
