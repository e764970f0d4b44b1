"""Reward model: what people prefer in responses that use their memories, and how sure that is."""

from __future__ import annotations

import re

import polars as pl
import streamlit as st

from parts import exports, show, state
from reward_model.agreement import PAPER
from reward_model.figures import comparisons_passport, preference_dots
from reward_model.rubric import RUBRIC
from views import judged, own_pair, pairs, versus
from views.judged import Evaluated
from workbench.report import Findings

WHAT = """
Somebody saw two answers to a question of their own, one written with nine of their **memories**
and one without, and said which is better. A **reward model** learns from many such judgments what
people prefer: twelve **features** of a pair (more headings? longer? justified assumptions about the
person?) are weighed, and the sum says how likely the answer with memories is preferred.
"""

COEFFICIENTS = """
Each mark is the **weight** of a feature, in log odds per standard deviation: +0.7 doubles the odds
that the answer with memories is preferred when the feature is one standard deviation larger. The
whiskers are made so that 95 of 100 such intervals hold the value that ever more participants would
give; where they cross zero, even the sign is open. Hollow marks are the paper’s weights on its own,
unpublished data: a reference.
"""
ACCURACY = """
How often the model names the preferred answer, for **people it never saw**: it learns from four
fifths of the participants and predicts the rest, ten times over. The *ablations* take features away
(only those about memories, only those about the responses, only length); the model is worth
something where it beats the larger class, which needs no model at all.
"""
SELECTIVE = """
A model that knows when it is unsure can stay silent. From left to right it speaks about ever more
pairs, the surest first: the line should fall from left to right.
"""
CALIBRATION = """
Of the pairs to which the model gives a probability of 70 %, seven in ten should come out that way.
Marks on the dashed line keep the promise; above it the answer with memories was preferred more
often than the model had said, below it less often.
"""
PREFERENCES = """
What was preferred, without any model. The *regime* is how the answer was told to use memories:
only where they clearly improve it (conservative), where natural (ordinary), whenever possible
(aggressive). The *generator* is the model that wrote both answers.
"""
WIDE = 760  # pixels that rows with names and a legend need


def page() -> None:
    st.title("Reward model")
    st.markdown(WHAT)
    left, right = st.columns([1, 1.6], gap="large")
    with left:
        chosen = judged.choose_set()
    if chosen is None:
        return
    if chosen.synthetic:
        st.warning(
            "**Synthetic data.** These judgments were made up by a program with known weights: "
            "they show how the method works, and say nothing about people.",
            icon=":material/science:",
        )
    with right:
        one = judged.choose_evaluation(chosen)
    if one is None:
        return
    names = list(SECTIONS)
    show.settled("section", names)
    st.segmented_control("Show", names, format_func=str.capitalize, **state.bound("section"))
    # What was cleared is the first again.
    SECTIONS.get(state.current().section or names[0], _coefficients)(one)


def _coefficients(one: Evaluated) -> None:
    found = judged.findings_of(one.run)
    st.subheader("What counts, and how much")
    st.markdown(COEFFICIENTS)
    show.figure(found.figures["coefficients"], "coefficients", WIDE)
    if "shrunken" in found.figures:
        with st.expander("The weights that the model predicts with (drawn towards zero)"):
            st.markdown(
                "A penalty keeps weights small where there is little data, which predicts new "
                "people better. Read the weights above, predict with these."
            )
            show.figure(found.figures["shrunken"], "shrunken", WIDE)
    with st.expander("What the twelve features are"):
        _rubric()
    _downloads(found, one, "coefficients")


def _accuracy(one: Evaluated) -> None:
    found = judged.findings_of(one.run)
    st.subheader("How good it is on people it never saw, and what each part adds")
    st.markdown(ACCURACY)
    show.figure(found.figures["accuracy"], "accuracy", WIDE)
    st.subheader("When it is sure")
    st.markdown(SELECTIVE)
    show.figure(found.figures["selective"], "selective")
    st.subheader("Whether its probabilities come true")
    st.markdown(CALIBRATION)
    show.figure(found.figures["reliability"], "reliability")
    with st.expander("In sentences: tests, agreement with oneself, what was left out"):
        for line in found.lead:
            show.text(line)
    _downloads(found, one, "accuracy")


def _preferences(one: Evaluated) -> None:
    found = judged.findings_of(one.run)
    st.subheader("What is preferred")
    st.markdown(PREFERENCES)
    for by, paper in (("regime", PAPER["preference by regime"]), ("generator", None)):
        # All judgments count here, and not those alone that the model learns from.
        rows = one.manifest["report"]["preferences"][by]
        passport = comparisons_passport(one.chosen, rows)
        show.figure(preference_dots(rows, passport, paper), f"preferences_{by}", WIDE)
    retest = one.manifest["report"]["retest"]["overall"]
    if retest["agreement"] is not None:
        share = f"**{retest['agreement']:.0%}**"
        st.markdown(
            f"Shown the same pair again, participants repeated their choice in {share} "
            f"of {retest['n']} cases (memory, other, or tie): nobody’s taste is fixed, and no "
            "model should be expected to know it exactly."
        )
    _downloads(found, one, "preferences")


def _rubric() -> None:
    """The features with their definitions, as they enter the model."""
    rows = [
        {
            "feature": one.name,
            "is": one.title,
            "measures": one.definition,
            "sign": one.sign,
            "about": "memories" if one.memory else "the responses",
            "scored by": "counting" if one.source == "text" else "a scorer",
            "paper’s weight": one.paper,
        }
        for one in RUBRIC.values()
    ]
    st.dataframe(
        pl.DataFrame(rows),
        hide_index=True,
        column_config={"paper’s weight": st.column_config.NumberColumn(format="%+.3f")},
    )


def _downloads(found: Findings, one: Evaluated, table: str) -> None:
    st.subheader("Take it along")
    st.caption("The page and the LaTeX tables hold all sections; CSV holds this one’s table.")
    frame = next((t.frame for t in found.tables if t.name == table), found.tables[0].frame)
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", f"reward-{one.chosen.name}-{table}")
    exports.downloads(found, stem, frame)


SECTIONS = {
    "coefficients": _coefficients,
    "accuracy": _accuracy,
    "preferences": _preferences,
    "one pair": pairs.explained,
    "your own pair": own_pair.typed,
    "compare": versus.compared,
}
