"""A pair of responses that somebody types in, scored by rules or by a language model."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import streamlit as st

from parts import data, model, show, state
from reward_model.calibration import choice
from reward_model.figures import contribution_waterfall, model_passport
from reward_model.judge_scorer import JudgeScorer
from reward_model.ready import offline_scorer
from reward_model.reward import MemoryReward
from reward_model.rubric import Scorer
from reward_model.schema import Pair
from views import judged, pairs
from views.judged import Evaluated
from workbench.errors import UsageError, WorkbenchError
from workbench.run_list import named_scorer

__all__ = ["typed"]

OWN = """
Type a question, what the assistant remembers, and two answers: one that uses the memories, one that
doesn’t. The features are read by rules and the bundled embedder on this machine, or by a language
model where one is set up; the reward model then says which of the two people would prefer, and why.
"""
FIELDS = ("query", "memories", "with_memory", "without_memory")
RULES, JUDGE = "offline", "judge"
ASKED, READER = "own-asked", "own-reader"
WIDE = 760  # pixels of a figure with names and a legend
LONGEST = 20_000  # characters of a text that is typed in


class Scored(NamedTuple):
    """What was scored (of which evaluation, by whom), and the explanation, or why there is none.
    `other` says that the reward model learned from another scorer."""

    run: str
    pair: Pair
    reader: str
    told: dict[str, Any]
    scorer: str = ""
    other: bool = False
    spent: str = ""
    trouble: str = ""


def typed(one: Evaluated) -> None:
    """Score a pair that somebody types in."""
    st.subheader("Score a pair of your own")
    st.markdown(OWN)
    _prefilled(one)
    st.text_input("Question", max_chars=LONGEST, **state.kept_as("own-query"))
    st.text_area(
        "Memories, one a line", height=150, max_chars=LONGEST, **state.kept_as("own-memories")
    )
    left, right = st.columns(2, gap="medium")
    left.text_area(
        "Answer with memories", height=260, max_chars=LONGEST, **state.kept_as("own-with_memory")
    )
    right.text_area(
        "Answer without memories",
        height=260,
        max_chars=LONGEST,
        **state.kept_as("own-without_memory"),
    )
    reader, pair = _reader(one), _pair()
    if st.button("Score it", type="primary", disabled=reader == JUDGE and state.read_only()):
        state.keep(ASKED, _scored(one, pair, reader))
    asked: Scored | None = state.kept(ASKED, None)
    if asked is None or asked.run != one.run:
        return
    if (asked.pair, asked.reader) != (pair, reader):
        st.caption("The texts or the reader were changed since; press *Score it* again.")
        return
    _shown(one, asked)


def _reader(one: Evaluated) -> str:
    """Who reads the features: rules, or the language model where there is one."""
    known = model.named()
    fitted = one.manifest["identity"]["scorer"]
    if known is None:
        if fitted.get("name") == JUDGE:
            model.unnamed(
                f"These weights were learned from features scored by {named_scorer(fitted)}, "
                "which would read yours on the same scale."
            )
        else:
            st.caption(
                "A language model can read the features too: `workbench explore --llm MODEL`."
            )
        return RULES
    names = {
        RULES: "rules, on this machine",
        JUDGE: f"{known.name}, {known.where} (15 questions, cached)",
    }
    first = JUDGE if fitted.get("name") == JUDGE else RULES
    st.radio(
        "Features read by",
        list(names),
        format_func=lambda name: show.plain(names[name]),
        help="The scale of a model’s grades is its own: use the scorer that the weights were "
        "learned from.",
        **state.kept_among(f"{READER} {one.run}", list(names), first),
    )
    return str(state.kept(f"{READER} {one.run}", first))


def _scored(one: Evaluated, pair: Pair, reader: str) -> Scored:
    """Read the features, and explain; whatever goes wrong is said in its own words."""
    fitted = judged.model_of(one)
    made = Scored(one.run, pair, reader, {})
    try:
        with st.spinner("Reading the texts …"):
            scorer, chat = _scorer(fitted.file_.origin.scorer, reader)
            other = _is_other(fitted.file_.origin, scorer)
            reward = MemoryReward(fitted, scorer, other_scorer=other)
            told = msgspec.to_builtins(reward.explain(pair))
    except WorkbenchError as error:
        return made._replace(trouble=str(error))
    spent = "" if chat is None else model.spent(chat)
    name = named_scorer(scorer.identity)
    return made._replace(told=told, scorer=name, other=other, spent=spent)


def _scorer(origin: dict[str, Any], reader: str) -> tuple[Scorer, Any]:
    """The scorer, and the model that it asks, if it does."""
    known = model.named()
    if reader == JUDGE and known is not None:
        chat = model.open_model(known)
        return JudgeScorer(chat), chat
    return offline_scorer(data.workspace(), origin.get("embedder", "minilm")), None


def _is_other(origin: Any, scorer: Scorer) -> bool:
    try:
        origin.refuse_other(scorer.identity)
    except UsageError:
        return True
    return False


def _shown(one: Evaluated, asked: Scored) -> None:
    if asked.trouble:
        st.error(show.plain(asked.trouble))
        return
    file = judged.model_of(one).file_
    if asked.other:
        st.warning(show.plain(_rough(named_scorer(file.origin.scorer), asked)))
    told = asked.told
    likely = told["probability"]
    st.markdown(
        f"**{pairs.PREFERRED[choice(likely)].capitalize()}** would be preferred: probability "
        f"**{max(likely, 1 - likely):.0%}**, log odds "
        f"{told['logit']:+.2f} for the one with memories."
    )
    spent = f" {asked.spent}." if asked.spent else ""
    st.caption(show.plain(f"Your features were read by {asked.scorer}.{spent}"))
    show.figure(contribution_waterfall(told, model_passport(file)), "own_waterfall", WIDE)
    with st.expander("The features of your pair in numbers"):
        pairs.parts(told)


def _rough(learned: str, asked: Scored) -> str:
    """What is wrong with an answer by another scorer, and how to get a fair one."""
    fair = "go to Compare and evaluate these judgments with features scored by offline"
    if asked.reader == JUDGE:
        fair = "score the set with it (workbench reward features NAME --scorer judge), evaluate it"
    return (
        f"A rough answer: the model learned from features scored by {learned}, and yours are "
        f"scored by {asked.scorer}, whose scale differs. For a fair one, {fair}, then choose that "
        "evaluation above."
    )


def _prefilled(one: Evaluated) -> None:
    """Begin with a pair of the set: empty boxes teach nobody what belongs in them."""

    def fill(texts: tuple[str, str, str, str]) -> None:
        for field, text in zip(FIELDS, texts, strict=True):
            state.keep(f"own-{field}", text)

    comparison = next(iter(pairs.by_id(one).values()))
    named = pairs.by_id(one).get(state.current().comparison, comparison)
    texts = (
        named.query,
        "\n".join(" ".join(memory.split()) for memory in named.memories),
        named.with_memory,
        named.without_memory,
    )
    if not state.kept("own-begun", False):
        state.keep("own-begun", True)
        fill(texts)
    row = st.container(horizontal=True)
    row.button("Start from a pair of the set", on_click=fill, args=(texts,))
    row.button("Empty all boxes", on_click=fill, args=(("", "", "", ""),))


def _pair() -> Pair:
    texts: dict[str, str] = {field: state.kept(f"own-{field}") for field in FIELDS}
    lines = (line.strip() for line in texts["memories"].splitlines())
    return Pair(
        query=texts["query"].strip(),
        memories=tuple(line for line in lines if line),
        with_memory=texts["with_memory"],
        without_memory=texts["without_memory"],
    )
