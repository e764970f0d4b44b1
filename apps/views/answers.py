"""An answer from each of a question's two rankings: by rule at once, by a language model when a
button is pressed."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl
import streamlit as st

from parts import model, show, state
from views import run_classes
from workbench.answer_one import answer_both, readings, say_both
from workbench.ask import Asking
from workbench.chat_models import ChatModel
from workbench.errors import WorkbenchError
from workbench.prompted_answer import Said, request_of
from workbench.run_plan import LLM_ANSWERER
from workbench.schema import digest_of
from workbench.view import View

__all__ = ["draw", "of_the_run"]

TITLES = {"without": "question alone", "with": "with the profile prior"}
ANSWERERS = {"": "nobody", "extractive": "rules", LLM_ANSWERER: "a language model"}
HELP = (
    "Rules take the best-fitting words out of the first ten memories. A language model reads the "
    "person’s profile and what was found, and is asked only when you press the button. Neither "
    "sees the data set’s answer."
)
SAID = "said-by-model"


def draw(one: Asking, view: View) -> None:
    """Who answers, and what they say."""
    options = [*ANSWERERS, *([view.answerer] if view.answerer not in ANSWERERS else [])]
    st.segmented_control(
        "Answer the question from each ranking",
        options,
        format_func=lambda name: str(ANSWERERS.get(name, name)).capitalize(),
        help=HELP,
        **state.bound("answerer"),
    )
    if view.answerer == LLM_ANSWERER:
        _by_model(one)
    elif view.answerer:
        answers = answer_both(one, view.answerer)
        _beside({name: answer.text for name, answer in answers.items()}, {})


def of_the_run(one: Asking, view: View) -> None:
    """What the run that is chosen says of this question: where it was lost, what it answered."""
    if one.question is None or not view.run:
        return
    found = _of_run(view.run, one.question.id, view.dataset)
    if found:
        st.html(
            f'<div class="verdict"><div class="quiet">{show.escaped("In the run " + found[0])}'
            f"</div>{show.escaped(found[1])}</div>"
        )


def _of_run(run: str, question: str, dataset: str) -> tuple[str, str] | None:
    """The run's name, and what it says; None where it says nothing of the question."""
    named = run_classes.tells(run, dataset)
    if not named:
        return None
    lost = run_classes.by_question(run).get(question)
    if lost is None:
        return named, "This question has no class of error there: see Runs, Errors."
    said = [f"{lost.capitalize()}: {run_classes.SAID[lost]}."]
    answers = run_classes.answers(run).filter(pl.col("question") == question)
    for answer, f1 in answers.select("answer", "f1").iter_rows():
        said += [] if answer is None else [f"It answered “{answer}”."]
        said += [] if f1 is None else [f"F1 is {f1:.2f}."]
    return named, " ".join(said)


def _by_model(one: Asking) -> None:
    """The model's answers: those of this very question and ranking, or a button that asks."""
    known = model.named()
    if known is None:
        model.unnamed("A language model would answer from each ranking.")
        return
    given = readings(one)
    requests = [msgspec.structs.asdict(request_of(reading)) for reading in given.values()]
    key = digest_of([known.spec, requests])
    pressed = st.button(
        f"Ask {show.plain(known.name)}",
        key="_ask_model",
        type="primary",
        disabled=state.read_only(),
    )
    held: dict[str, Any] = state.kept(SAID, {})
    if pressed:
        held = _asked(known, given, key)
        state.keep(SAID, held)
    if state.read_only():
        st.caption("Read-only: no model is asked here.")
    elif held.get("key") != key:
        sent = sum(len(each["system"]) + len(each["user"]) for each in requests)
        st.caption(
            show.plain(
                f"Two questions, {sent:,} characters in all, go to {known.name} {known.where}; "
                "what was asked before comes from the cache."
            )
        )
    if held.get("key") == key:
        _beside(held["texts"], held["failures"])
        st.caption(show.plain(held["spent"]))


def _asked(known: model.Model, given: Any, key: str) -> dict[str, Any]:
    """Ask, and what there is to be shown of it."""
    try:
        with st.spinner(f"{show.plain(known.name)} reads and answers …"):
            chat = model.open_model(known)
            said = say_both(given, chat)
    except WorkbenchError as error:
        show.trouble(error)
        return {}
    return {
        "key": key,
        "texts": {name: one.text for name, one in said.items() if one.failure is None},
        "failures": {name: _failure(one) for name, one in said.items() if one.failure is not None},
        "spent": _accounts(known, chat),
    }


def _failure(said: Said) -> str:
    return f"no answer: {said.failure}{f' ({said.detail})' if said.detail else ''}"


def _accounts(known: model.Model, chat: ChatModel) -> str:
    return f"{known.name}: {model.spent(chat)}"


def _beside(texts: dict[str, str], failures: dict[str, str]) -> None:
    """Both answers beside each other, under the names of their rankings."""
    for column, name in zip(st.columns(2, gap="medium"), TITLES, strict=True):
        body = (
            f'<span class="flag">{show.escaped(failures[name])}</span>'
            if name in failures
            else f"<b>{show.escaped(texts.get(name, ''))}</b>"
        )
        column.html(
            f'<div class="answer"><div class="quiet">Answer, {TITLES[name]}</div>{body}</div>'
        )
