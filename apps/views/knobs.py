"""The knobs of a ranking: λ, K, prior, retriever, boost, what is searched, and with what."""

from __future__ import annotations

import streamlit as st

from parts import data, state
from views import wording
from workbench.library import MADE, build_command, by_model
from workbench.retrieve import RETRIEVERS
from workbench.usable import priors_for
from workbench.view import View

__all__ = ["PRIOR_NAMES", "draw", "memories"]

MOST_K = 50  # of the slider; an address may ask for more
PRIOR_NAMES = {
    "none": "none",
    "profile": "profile text (the paper’s)",
    "facts": "profile facts near the question",
    "speaker": "all that the person said",
    "other-user": "control: somebody else’s profile",
    "everyone": "control: everybody’s profiles",
    "shuffled": "control: shuffled facts",
    "random": "control: a random direction",
    "centroid": "mean of all",
    "contrast": "how the person differs, by",
}
RETRIEVER_NAMES = {
    "dense": "meaning (dense vectors)",
    "lexical": "words (BM25)",
    "hybrid": "meaning and words (hybrid)",
    "ppro": "the paper’s dual path",
    "approximate": "meaning, approximate index",
}


def draw() -> None:
    """The knobs, in a box."""
    view = state.current()
    with st.container(border=True):
        first, second = st.columns(2, gap="medium")
        if view.prior == "none" or view.retriever == "lexical":
            first.caption("λ has no part here: without a prior there is the question alone.")
        else:
            first.slider(
                "λ: weight of the question against the profile",
                0.0,
                1.0,
                step=0.05,
                help="z = λ · question + (1 − λ) · profile. 1 is the question alone. The paper "
                "reports its best at 0.8; what is best here is another matter.",
                **state.bound("lam"),
            )
        second.slider(
            "K: memories retrieved",
            1,
            max(MOST_K, view.k),
            help="How many memories are returned, and counted in: evidence recall@K is the share "
            "of a question’s evidence among the first K.",
            **state.bound("k"),
        )
        _choices(view)


def _choices(view: View) -> None:
    prior, retriever, boost = st.columns(3, gap="medium")
    kinds = data.kinds(view)
    priors = priors_for(kinds)
    prior.selectbox(
        "Prior",
        priors if view.prior in priors else [*priors, view.prior],
        format_func=prior_name,
        help="What is known of the person, as one vector. Controls should not help: where they do, "
        "it is not the person’s own profile that helped.",
        **state.bound("prior"),
    )
    retriever.selectbox(
        "Retriever",
        list(RETRIEVERS),
        format_func=lambda name: RETRIEVER_NAMES.get(name, name),
        **state.bound("retriever"),
    )
    if view.retriever == "ppro":
        boost.slider(
            "Boost for equal dimensions",
            0.0,
            max(0.3, view.boost),
            step=0.01,
            help="Added to the score for each of tense, subjectivity and certainty that memory "
            "and question share.",
            **state.bound("boost"),
        )
    else:
        boost.caption("The boost for equal dimensions belongs to the paper’s dual path.")
    wording.choose()
    with st.expander("What is searched"):
        memories(view, kinds)


def memories(view: View, kinds: list[str]) -> None:
    """Which kind of memory is searched: those that are there, and how to make the others."""
    st.radio(
        "Memories",
        kinds,
        captions=[WHAT_KINDS[kind.partition("@")[0]] for kind in kinds],
        horizontal=True,
        **state.bound("memories"),
    )
    if not any(by_model(kind) for kind in kinds):
        st.caption("A language model can read memories out of the dialogues too. In a terminal:")
        st.code(build_command(view.dataset, MADE, view.embedder), language=None)


WHAT_KINDS = {
    "turns": "every utterance as it stands",
    "observations": "statements that the data set brings",
    "facts": "statements found by rules",
    "llm": "statements that a language model read out",
}


def prior_name(name: str) -> str:
    base, _, source = name.partition(":")
    return " ".join(filter(None, (PRIOR_NAMES.get(base, base), source)))
