"""Data for the views, loaded once for all sessions: everything shared here is immutable."""

from __future__ import annotations

import re

import polars as pl
import streamlit as st

from parts import given, state
from workbench import effects, library
from workbench.ask import find_question
from workbench.cells import Study
from workbench.datasets import store, versions
from workbench.datasets.report import Dataset
from workbench.embedders import SentenceEmbedder, open_embedder
from workbench.library import BankSet, open_banks
from workbench.metrics import exclusion
from workbench.prepare import sources_for
from workbench.rewriters import rewriter_labels
from workbench.schema import Recipe
from workbench.usable import dataset_names, embedders_held, kinds_there, usable, usable_in
from workbench.view import View
from workbench.workspace import Workspace

__all__ = [
    "SMALL",
    "banks",
    "built",
    "dataset",
    "effects_of",
    "kinds",
    "measurable",
    "mend",
    "ready",
    "rewriter_made",
    "rewriters",
    "sources",
    "study",
    "version",
    "workspace",
]

# Turns that are remembered without asking first: about half a minute on two cores.
SMALL = 3_000

# One word such as `robin-q01` or `conv-26/12`: no question that somebody typed.
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./:#-]*")

Key = tuple[str, str, str, str]


def workspace() -> Workspace:
    """The workspace that `workbench explore` names, the default one otherwise; read-only where
    the explorer is."""
    return Workspace(read_only=state.read_only())


def mend() -> None:
    """Replace what the session's view names and nothing here has, with a word on each."""
    home = workspace()
    view, said = usable(state.current(), dataset_names(home), embedders_held(home), rewriters())
    known = dataset(view.dataset)
    view, more = usable_in(view, known)
    asked = view.question.strip()
    if state.taken() and ID.fullmatch(asked) and find_question(known, asked) is None:
        more.append(f"no question of {known.name} has the id {asked!r}; it is taken as your own")
    if view != state.current():
        state.change(**{name: getattr(view, name) for name in view.__struct_fields__})
    state.remark(said + more)


def dataset(name: str) -> Dataset:
    """A dataset, as it is in force."""
    return _dataset(name, version(name))


def built(view: View) -> bool:
    """Whether a view's memories are there already."""
    opened = _embedder(view.embedder)
    return library.is_built(workspace(), view.dataset, view.memories, opened)


def kinds(view: View) -> list[str]:
    """The kinds of memory of a view's dataset: those by rule, and what models have built."""
    there = kinds_there(workspace(), dataset(view.dataset), _embedder(view.embedder))
    return list(dict.fromkeys([*there, view.memories]))


def ready(view: View) -> bool:
    """Whether a view's memories are built, or so few that they may be built at once; a model's are
    never built by opening a page."""
    there = built(view)
    if there or workspace().read_only or library.by_model(view.memories):
        return there
    turns = sum(len(dialogue.turns) for dialogue in dataset(view.dataset).dialogues)
    return turns <= SMALL


def banks(view: View) -> BankSet:
    """The banks of a view, of the dataset's version in force; built where missing."""
    return _banks(*_key(view))


def sources(view: View) -> dict[str, BankSet]:
    """The further banks that the view's prior needs."""
    return _sources(*_key(view), view.prior)


def rewriters() -> dict[str, str]:
    """Who can word what is searched with: `rewriter_labels`, and the model of `--llm`."""
    labels = rewriter_labels(workspace())
    if given.has_llm():
        labels["prompted"] = "prompted: the language model that the explorer was started with"
    return labels


def rewriter_made(name: str) -> float:
    """When a checkpoint of the workspace was made; 0 for what is none."""
    manifest = workspace().manifests("rewriters").get(name.partition(":")[2], {})
    return float(manifest.get("made", 0))


def effects_of(view: View) -> pl.DataFrame:
    """`workbench.effects.effects` of a view's recipe at its K: λ on the grid and K up to 200 cost
    nothing once one of them was asked for."""
    lams = effects.GRID if view.lam in effects.GRID else (*effects.GRID, view.lam)
    # What λ and K are does not matter to the rankings that are kept.
    recipe = view.but(lam=View().lam, k=View().k).recipe()
    return _ranked(_key(view), recipe, lams).at(view.lam, min(view.k, effects.DEPTH))


def measurable(view: View) -> bool:
    """Whether a view's data set has questions whose evidence is known."""
    return _measurable(view.dataset, version(view.dataset))


def study(view: View) -> Study:
    """The measurable questions of a view's dataset."""
    return Study(workspace(), banks(view))


def version(name: str) -> str:
    """Changes whenever the dataset does, so that nothing outdated is shown."""
    home = workspace()
    made = versions.current(home, name) or "bundled"
    return f"{home.root} {made}{' read-only' if home.read_only else ''}"


def _key(view: View) -> Key:
    made = version(view.dataset)
    if library.by_model(view.memories):  # another model's may have taken their place
        opened = _embedder(view.embedder)
        sets = library.sets_by_model(workspace(), view.dataset, view.memories, opened)
        made += "".join(f" {one['id']}" for one in sets)
    return view.dataset, view.memories, view.embedder, made


@st.cache_resource(max_entries=4, show_spinner=False)
def _embedder(spec: str) -> SentenceEmbedder:
    """Opened once: that its weights are the right ones is checked once. Never fetched: an address
    names it, and a gigabyte from another machine wants a command."""
    return open_embedder(spec, fetch=False)


@st.cache_resource(max_entries=8, show_spinner="Reading the data …")
def _dataset(name: str, version: str) -> Dataset:
    return store.load(workspace(), name)


@st.cache_resource(max_entries=8, show_spinner=False)
def _measurable(name: str, version: str) -> bool:
    return any(exclusion(question) is None for question in _dataset(name, version).questions)


@st.cache_resource(max_entries=8, show_spinner="Opening the memories …")
def _banks(dataset: str, memories: str, embedder: str, version: str) -> BankSet:
    return open_banks(workspace(), dataset, memories, embedder)


@st.cache_resource(max_entries=16, show_spinner="Opening the prior's memories …")
def _sources(
    dataset: str, memories: str, embedder: str, version: str, prior: str
) -> dict[str, BankSet]:
    opened = _banks(dataset, memories, embedder, version)
    return sources_for(workspace(), opened, Recipe(prior=prior))


@st.cache_resource(
    max_entries=32,
    show_spinner="Ranking every question with and without the prior …",
    hash_funcs={Recipe: repr},
)
def _ranked(key: Key, recipe: Recipe, lams: tuple[float, ...]) -> effects.Ranked:
    return effects.ranked(Study(workspace(), _banks(*key)), recipe, lams)
