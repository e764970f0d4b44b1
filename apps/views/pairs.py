"""One pair of responses: why the model says what it says; of a set, or typed in."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl
import streamlit as st

from parts import data, show, state
from reward_model.calibration import choice
from reward_model.evaluate import predictions_of
from reward_model.figures import contribution_waterfall, model_passport
from reward_model.fitting import explain_comparison
from reward_model.ready import offline_scorer
from reward_model.reward import MemoryReward
from reward_model.rubric import RUBRIC
from reward_model.schema import Comparison, Pair
from views import judged
from views.judged import Evaluated
from workbench.errors import WorkbenchError

__all__ = ["explained", "typed"]

ONE = """
The model’s **log odds** for one pair as a sum: the base rate, then what each feature adds or
takes, the largest first. Bars to the right speak for the answer with memories. Log odds of 0 are a
toss-up, +1.1 is a probability of 75 %, −1.1 one of 25 %.
"""
OWN = """
Type a question, what the assistant remembers, and two answers: one that uses the memories, one that
doesn’t. The features are read by rules and the bundled embedder, on this machine; the model then
says which of the two people would prefer, and why.
"""
OUTCOMES = ("all", "right", "wrong", "undecided")
PREFERRED = {True: "the answer with memories", False: "the answer without", None: "neither"}
FIELDS = ("query", "memories", "with_memory", "without_memory")
WIDE = 760  # pixels of a figure with names and a legend
LONGEST = 20_000  # characters of a text that is typed in


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
    comparison = _by_id(one)[row["comparison"]]
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
        _parts(told)


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
    pair = _pair()
    st.button("Score it", type="primary", on_click=lambda: state.keep("own-asked", pair))
    asked: Pair | None = state.kept("own-asked", None)
    if asked is None:
        return
    if asked != pair:
        st.caption("The texts were changed since; press *Score it* again.")
        return
    _scored(one, asked)


def _scored(one: Evaluated, pair: Pair) -> None:
    model = judged.model_of(one)
    scorer = model.file_.origin.scorer
    other = scorer.get("name") != "offline"
    try:
        with st.spinner("Reading the texts …"):
            reader = offline_scorer(data.workspace(), scorer.get("embedder", "minilm"))
            told = msgspec.to_builtins(
                MemoryReward(model, reader, other_scorer=other).explain(pair)
            )
    except WorkbenchError as error:
        show.trouble(error)
        return
    if other:
        st.warning(
            show.plain(
                f"A rough answer: the model learned from features scored by "
                f"{scorer.get('name', 'somebody else')}, and yours are scored by offline rules, "
                "whose scale differs. For a fair one, go to Compare and evaluate these judgments "
                "with features scored by offline, then choose that evaluation above."
            )
        )
    likely = told["probability"]
    st.markdown(
        f"**{PREFERRED[choice(likely)].capitalize()}** would be preferred: probability "
        f"**{max(likely, 1 - likely):.0%}**, log odds "
        f"{told['logit']:+.2f} for the one with memories."
    )
    show.figure(contribution_waterfall(told, model_passport(model.file_)), "own_waterfall", WIDE)
    with st.expander("The features of your pair in numbers"):
        _parts(told)


def _prefilled(one: Evaluated) -> None:
    """Begin with a pair of the set: empty boxes teach nobody what belongs in them."""

    def fill(texts: tuple[str, str, str, str]) -> None:
        for field, text in zip(FIELDS, texts, strict=True):
            state.keep(f"own-{field}", text)

    comparison = next(iter(_by_id(one).values()))
    named = _by_id(one).get(state.current().comparison, comparison)
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


def _parts(told: dict[str, Any]) -> None:
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


def _by_id(one: Evaluated) -> dict[str, Comparison]:
    return {comparison.id: comparison for comparison in one.chosen.comparisons}


@st.cache_resource(max_entries=8, show_spinner=False)
def _predictions(run: str) -> pl.DataFrame:
    return predictions_of(data.workspace(), run)
