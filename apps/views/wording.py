"""In whose words a question is searched with: its own, or a rewriter's.

What a rewriter said before is used at once; else it is asked when a button is pressed, and never
before: a model of this machine takes seconds to load. What it said is kept for the session, so
that moving a knob opens nothing of it again.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from parts import data, model, show, state
from workbench.errors import WorkbenchError
from workbench.library import BankSet
from workbench.rewrite import Rewriter, Rewriting, asks_model, open_rewriter, request_of
from workbench.rewriters import Checkpoint, open_checkpoint, reworded
from workbench.rewritten import wanted_of
from workbench.schema import Question, digest_of
from workbench.view import View

__all__ = ["choose", "words"]

SAID, MOST = "said-by-rewriter", 500  # what is kept of a session, and how many questions of it
TRAIN = "workbench train NAME --model FOLDER"
HELP = (
    "A rewriter says what a memory that answers would sound like, and both rankings are made of "
    f"its words. It never sees the answer. Another one is trained with: {TRAIN}"
)
AS_ASKED = "the question as asked is ranked."


def choose() -> None:
    """Who words what is searched with, where there is anybody."""
    labels = data.rewriters()
    if len(labels) == 1:
        st.caption(
            "Both rankings are made of the question as asked. A rewriter, which words it as what "
            f"a memory would say, is trained in a terminal: `{TRAIN}`"
        )
        return
    hide = show.hiding()
    st.selectbox(
        "Searched with",
        list(labels),
        format_func=lambda name: hide(labels[name]),
        help=HELP,
        **state.bound("rewriter"),
    )
    view = state.current()
    if view.rewriter and data.measurable(view):
        st.caption(
            "The list of questions keeps to the questions as asked: shares, *helped* and *hurt* "
            "are measured without a rewriter."
        )


def words(view: View, banks: BankSet, question: Question) -> str | None:
    """What a question is searched with instead of its own words; None for its own: where no
    rewriter is chosen, has not been asked of this question yet, or failed."""
    if not view.rewriter:
        return None
    key = _key(view, question)
    told = state.kept(SAID, {}).get(key)
    try:
        if told is None:
            told = _keep(key, _known(view, banks, question))
        if not told or told["pending"]:
            told = _asked(view, banks, question, key) or told
    except WorkbenchError as error:
        st.warning(show.plain(f"The rewriter could not be asked: {error}. {AS_ASKED.capitalize()}"))
        return None
    if told and told["failure"]:
        st.html(
            '<div class="flag">The rewriter gave no words: '
            f"{show.escaped(told['failure'])}. {AS_ASKED.capitalize()}</div>"
        )
    return told["text"] if told and not told["failure"] else None


def _known(view: View, banks: BankSet, question: Question) -> dict[str, Any]:
    """What a checkpoint said of a question before; nothing where it would have to be asked. What
    the model of `--llm` said before is not looked for: that it is opened wants a button."""
    if asks_model(view.rewriter):
        return {}
    opened = _checkpoint(view.rewriter)
    if opened.unasked(banks, [question]):
        return {}
    return _told(reworded(opened.rewrite, banks, question))


def _asked(view: View, banks: BankSet, question: Question, key: str) -> dict[str, Any]:
    """A button that asks, and what came of it; nothing where it is not pressed."""
    if state.read_only():
        st.caption(f"Read-only: no rewriter is asked here, and {AS_ASKED}")
        return {}
    place = st.empty()
    with place.container():
        pressed = st.button("Put it into the rewriter’s words", key="_ask_rewriter", type="primary")
        st.caption(show.plain(f"{_cost(view, banks, question)} Until then, {AS_ASKED}"))
    if not pressed:
        return {}
    with st.spinner("The rewriter reads the question …"):
        told = _keep(key, _told(reworded(_rewriter(view.rewriter), banks, question)))
    if not told["pending"]:
        place.empty()
    return told


def _cost(view: View, banks: BankSet, question: Question) -> str:
    """Who would read the question, and where."""
    if not asks_model(view.rewriter):
        return "The rewriter reads it on this machine; its model takes some seconds to load first."
    known = model.named()
    if known is None:
        return "The language model is not there."
    request = request_of(wanted_of(banks, [question])[0])
    return (
        f"{len(request.system) + len(request.user):,} characters go to {known.name} "
        f"{known.where}; what was asked before comes from the cache."
    )


def _rewriter(name: str) -> Rewriter:
    if not asks_model(name):
        return _checkpoint(name).rewrite
    known = model.named()
    return open_rewriter(name, None if known is None else model.open_model(known))


def _key(view: View, question: Question) -> str:
    """What a rewriter's words depend on: its weights, and the question with its day."""
    stamp = data.rewriter_made(view.rewriter)
    asked = [question.id, question.text, question.scope, list(question.people)]
    return digest_of([view.rewriter, stamp, view.dataset, data.version(view.dataset), asked])


def _keep(key: str, told: dict[str, Any]) -> dict[str, Any]:
    held = {**state.kept(SAID, {}), key: told}
    state.keep(SAID, dict(list(held.items())[-MOST:]))
    return told


def _told(made: Rewriting) -> dict[str, Any]:
    return {"text": made.text, "failure": made.failure, "pending": made.pending}


def _checkpoint(name: str) -> Checkpoint:
    home = data.workspace()
    return _opened(name, data.rewriter_made(name), str(home.root), home.read_only)


@st.cache_resource(max_entries=2, show_spinner="Opening the rewriter …")
def _opened(name: str, made: float, root: str, read_only: bool) -> Checkpoint:
    """Opened once: its files are read through to check them, and its weights stay loaded."""
    return open_checkpoint(data.workspace(), name)
