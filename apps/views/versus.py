"""Two evaluated models side by side, over the comparisons of both."""

from __future__ import annotations

import re

import streamlit as st

from parts import data, exports, show, state
from reward_model import ready
from views import judged
from views.judged import Evaluated

__all__ = ["compared"]

WHAT = """
Two models of the same judgments: with other features, features read by another scorer, or other
judgments to learn from. They are compared on the pairs that both predicted, each for people that it
never saw, and the difference is tested pair by pair.
"""


def compared(one: Evaluated) -> None:
    """Choose another evaluation (or make one), and see both."""
    st.subheader("Compare two models")
    st.markdown(WHAT)
    known = ready.evaluations_of(data.workspace(), one.chosen)
    others = [run for run in reversed(known) if run != one.run]
    if not others:
        st.info("There is only one evaluation of these judgments so far. Make a second one here.")
    with st.expander("Evaluate with other settings", expanded=not others):
        made = judged.make_evaluation(one.chosen, "second", "without headings and length")
    if made is not None:
        state.change(against=made if made != one.run else "")
        if made == one.run:
            st.session_state["_same"] = True
        st.rerun()
    if st.session_state.pop("_same", False):
        st.info("That evaluation is the one that is shown already.")
    if not others:
        show.settled("against", [""])
        return
    show.settled("against", others)
    st.selectbox(
        "Compare with",
        others,
        format_func=lambda run: judged.named(known[run]),
        **state.bound("against"),
    )
    _both(one, Evaluated(one.chosen, state.current().against, known[state.current().against]))


def _both(one: Evaluated, other: Evaluated) -> None:
    found = judged.findings_of(one.run, other.run)
    for line in found.lead:
        show.text(line)
    st.dataframe(found.tables[0].frame, hide_index=True)
    st.caption(
        f"{show.plain(found.tables[0].title)}. correct: share of pairs predicted right; "
        "squared error: mean squared distance of the probability from what happened (lower is "
        "better); full, memory only, response only, length only: with which of its features."
    )
    for name, each in (("a", one), ("b", other)):
        st.markdown(f"**{name}:** {show.plain(judged.named(each.manifest))}")
        show.figure(judged.findings_of(each.run).figures["coefficients"], f"versus_{name}", 760)
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", f"reward-{one.chosen.name}-compared")
    exports.downloads(found, stem, found.tables[0].frame)
