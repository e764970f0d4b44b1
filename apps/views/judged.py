"""Which judgments and which evaluation of them a page is about; made where they are missing."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import streamlit as st

from parts import data, show, state
from reward_model import ready
from reward_model.evaluate import EvaluationPlan
from reward_model.model import MemoryAwareRewardModel
from reward_model.report import reward_findings
from reward_model.rubric import RUBRIC
from reward_model.schema import ComparisonSet, Strength
from reward_model.scores import Scores, load_scores
from reward_model.store import comparison_sets
from workbench.errors import UsageError
from workbench.report import Findings
from workbench.run_list import named_scorer

__all__ = [
    "Evaluated",
    "choose_evaluation",
    "choose_set",
    "findings_of",
    "make_evaluation",
    "model_of",
    "named",
    "progress",
]

DEFAULT_PLAN = EvaluationPlan()
STRENGTHS: dict[str, tuple[Strength, ...]] = {
    "clear preferences (“much better”)": ("much",),
    "all preferences (“much” and “slightly better”)": ("much", "slightly"),
}
FULL = "the full rubric"
COLUMNS = {
    FULL: None,
    "without headings and length": tuple(one for one in RUBRIC if one not in ("HEAD", "LEN")),
    "only what depends on memories": tuple(one for one in RUBRIC if RUBRIC[one].memory),
    "only what is about the responses": tuple(one for one in RUBRIC if not RUBRIC[one].memory),
}


class Evaluated(NamedTuple):
    """An evaluation that is looked at: its comparisons, its id, its manifest."""

    chosen: ComparisonSet
    run: str
    manifest: dict[str, Any]

    @property
    def scores(self) -> Scores:
        """The scores that it was made from."""
        return load_scores(
            data.workspace(), self.chosen.content, self.manifest["identity"]["scores"]
        )


def choose_set() -> ComparisonSet | None:
    """The set of comparisons; None, with a word, where there is none that could be shown."""
    home = data.workspace()
    names = ready.set_names(home)
    named_so = state.current().judgments
    if not named_so:
        state.change(judgments=ready.SIMULATED)
    elif named_so not in names:
        st.warning(show.plain(f"There are no judgments named {named_so!r} here; shown: simulated."))
        state.change(judgments=ready.SIMULATED, run="", against="", comparison="")
    st.selectbox(
        "Judgments",
        names,
        format_func=lambda name: f"{name} (made up)" if name == ready.SIMULATED else name,
        help="Bring your own with: workbench reward import FILE",
        **state.bound("judgments", run="", against="", comparison=""),
    )
    name = state.current().judgments
    known = comparison_sets(home)
    if name not in known:
        if home.read_only:
            show.empty(
                "There are no judgments here yet, and nothing can be written.",
                "workbench reward simulate",
            )
            return None
        with st.spinner("Making judgments up, once: about two seconds …"):
            return ready.ready_set(home, name)
    return _set(name, known[name]["content"])


def choose_evaluation(chosen: ComparisonSet) -> Evaluated | None:
    """One of the evaluations of a set, the newest unless another is asked for.

    The simulated set is evaluated at once; others on a button, after their features are scored.
    """
    known = ready.evaluations_of(data.workspace(), chosen)
    if not known:
        if _first(chosen) is None:
            return None
        known = ready.evaluations_of(data.workspace(), chosen)
    # None yet, another page's, or one of other judgments: the newest of the whole rubric.
    whole = [run for run, one in known.items() if one["identity"]["plan"]["features"] is None]
    show.settled("run", [(whole or list(known))[-1], *known])
    if len(known) > 1:
        st.selectbox(
            "Evaluation",
            list(reversed(known)),
            format_func=lambda run: named(known[run]),
            help="Which features, whose scores of them, and which judgments the model learns from.",
            **state.bound("run", against=""),
        )
    run = state.current().run
    return Evaluated(chosen, run, known[run])


def make_evaluation(chosen: ComparisonSet, key: str, columns: str = FULL) -> str | None:
    """Settings and a button that evaluates; the id of what was made, None where nothing was asked
    for. `columns` is what is chosen at first."""
    home = data.workspace()
    names = {name: named_scorer(one) for name, one in ready.scorers_of(home, chosen).items()}
    if "offline" not in names.values():
        names["offline"] = "offline"
    with st.container(border=True):
        left, middle, right = st.columns(3, gap="medium")
        left.selectbox("Features", list(COLUMNS), **_kept("columns", key, COLUMNS, columns))
        middle.selectbox("Learns from", list(STRENGTHS), **_kept("strengths", key, STRENGTHS))
        right.selectbox(
            "Features scored by",
            list(names),
            format_func=names.__getitem__,
            help="offline: our rules with the bundled embedder; it reads the texts, which takes "
            "about a minute for 1,000 pairs on two cores, once. judge: a language model, which "
            "scores a whole set with: workbench reward features NAME --scorer judge --llm MODEL",
            **_kept("scorer", key, names),
        )
        pressed = st.button(
            "Evaluate", type="primary", disabled=home.read_only, key=f"_evaluate_{key}"
        )
    if home.read_only:
        st.caption("Read-only: nothing can be evaluated here.")
    if not pressed:
        return None
    held = {name: state.kept(f"{name}-{key}") for name in ("columns", "strengths", "scorer")}
    plan = EvaluationPlan(strengths=STRENGTHS[held["strengths"]], features=COLUMNS[held["columns"]])
    return _evaluated(chosen, held["scorer"], plan)


def findings_of(run: str, against: str | None = None) -> Findings:
    """What an evaluation found, or how it differs from another one."""
    return _findings(run, against)


def model_of(one: Evaluated) -> MemoryAwareRewardModel:
    """The model that belongs to an evaluation, fitted to all its preferences."""
    return _model(one.run, one)


def named(manifest: dict[str, Any]) -> str:
    """An evaluation in a line: features, scorer, what it learns from."""
    identity = manifest["identity"]
    plan = identity["plan"]
    features = None if plan["features"] is None else tuple(plan["features"])
    known = (name for name, one in COLUMNS.items() if one == features)
    what = next(known, ", ".join(features or ()))
    strengths = " and ".join(plan["strengths"])
    scorer = named_scorer(identity["scorer"])
    return f"{what}; “{strengths}”; scored by {scorer}; n = {manifest['report']['n']}"


@contextlib.contextmanager
def progress(title: str) -> Iterator[ready.Progress]:
    """A bar while something is made."""
    bar = st.progress(0.0, title)

    def tell(what: str, done: int, total: int) -> None:
        bar.progress(min(done / max(total, 1), 1.0), f"{title}: {what}, {done:,} of {total:,}")

    try:
        yield tell
    finally:
        bar.empty()


def _kept(name: str, key: str, options: Collection[str], at_first: str = "") -> dict[str, Any]:
    """A choice that outlives its page, and falls back where its options changed."""
    held = f"{name}-{key}"
    first = at_first or next(iter(options))
    if state.kept(held, None) not in options:
        state.keep(held, first)
    return state.kept_as(held, first)


def _first(chosen: ComparisonSet) -> str | None:
    """The first evaluation of a set; None, with a word, where it waits for a button."""
    home = data.workspace()
    if home.read_only:
        show.empty(
            f"{chosen.name} has not been evaluated yet, and nothing can be written here.",
            f"workbench reward evaluate {chosen.name}",
        )
        return None
    if chosen.name == ready.SIMULATED:
        return _evaluated(chosen, None, DEFAULT_PLAN)
    st.info(
        "These judgments have not been evaluated yet. Choose how, and press Evaluate: a model "
        "learns from most participants and is tried on the others, fifty times."
    )
    return make_evaluation(chosen, "first")


def _evaluated(chosen: ComparisonSet, scorer: str | None, plan: EvaluationPlan) -> str:
    home = data.workspace()
    with progress("Scoring the features") as tell:
        scores = ready.ready_scores(home, chosen, scorer, tell)
    with progress("Fitting and trying the model on held-out participants") as tell:
        return ready.ready_evaluation(home, chosen, scores, plan, tell)


@st.cache_resource(max_entries=8, show_spinner="Reading the judgments …")
def _set(name: str, content: str) -> ComparisonSet:
    found = ready.ready_set(data.workspace(), name)
    if found.content != content:
        raise UsageError(f"the judgments {name} were replaced just now; load the page again")
    return found


@st.cache_resource(max_entries=16, show_spinner="Drawing …")
def _findings(run: str, against: str | None) -> Findings:
    return reward_findings(data.workspace(), run, against)


@st.cache_resource(max_entries=8, show_spinner="Fitting the model …")
def _model(run: str, _one: Evaluated) -> MemoryAwareRewardModel:
    return ready.ready_model(_one.chosen, _one.scores, _one.manifest)
