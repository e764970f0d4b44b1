"""Which runs tell where questions were lost, and what they tell: loaded once for all sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import streamlit as st

from parts import data
from views import run_table
from workbench import attribution, run_answers
from workbench.attribution import Attribution
from workbench.bank_set import BankSet
from workbench.errors import UsageError, WorkbenchError
from workbench.run_list import settings
from workbench.runs import Run
from workbench.view import View

__all__ = [
    "SAID",
    "answers",
    "by_judge",
    "by_question",
    "classes",
    "dataset_of",
    "named_runs",
    "recipe_view",
    "tells",
    "verdicts",
]

# What each class says, for people.
SAID = {
    attribution.ANSWERED: "the answer is right",
    attribution.DISPUTED: "the answer differs from the gold, which an audit says is wrong",
    attribution.ABSENT: "no memory rests on some turn of the evidence: nothing could find it",
    attribution.MISSED: "all of the evidence is remembered, and some was not among what was read",
    attribution.UNUSED: "all of the evidence was read, and the answer is wrong all the same",
    attribution.WRONG: "the answer is wrong; what was read for it is not known",
    attribution.RETRIEVED: "all of the evidence was found (nothing was answered)",
}


def named_runs(dataset: str) -> dict[str, str]:
    """The runs of a data set that tell classes of error by id, the newest first: their settings."""
    found = run_answers.runs_with_classes(data.workspace(), dataset)
    return {name: _named(name, manifest) for name, manifest in reversed(found.items())}


def tells(run: str, dataset: str) -> str:
    """The settings of a run where it tells classes of error of a data set; "" where it doesn't."""
    try:
        loaded = run_table.loaded(run) if run else None
    except WorkbenchError:  # an address may name any
        return ""
    known = loaded is not None and loaded.id == run and run_answers.keeps_classes(loaded.manifest)
    if loaded is None or not known or dataset_of(loaded.manifest) != dataset:
        return ""
    return _named(run, loaded.manifest)


def recipe_view(manifest: Mapping[str, Any]) -> View:
    """A view of the memories that a run searched."""
    identity = manifest["identity"]
    recipe = identity.get("recipe") or {}
    known = {name: recipe[name] for name in ("memories", "embedder") if name in recipe}
    return View(dataset=str(identity["dataset"]), **known)


def _remembering(manifest: Mapping[str, Any]) -> BankSet | None:
    """The memories that a run searched, where they are built: nothing is built for a table."""
    view = recipe_view(manifest)
    return data.banks(view) if data.built(view) else None


def classes(run: str) -> Attribution | None:
    """Where a run's questions were lost; None where that cannot be told here and now."""
    manifest = run_table.loaded(run).manifest
    if not run_answers.keeps_classes(manifest):
        return None
    needed = _remembering(manifest) if run_answers.remembers(manifest) else None
    if needed is None and run_answers.remembers(manifest):
        return None
    return _classes(str(data.workspace().root), run, data.version(dataset_of(manifest)), needed)


def by_judge(run: Run, judge: str) -> Attribution | None:
    """The same where a judge says which answers are right; None where it cannot be told."""
    needed = _remembering(run.manifest)
    if needed is None:
        return None
    return _by_judge(str(data.workspace().root), run.id, judge, needed.id, needed)


def by_question(run: str) -> dict[str, str]:
    """The class of each of a run's questions that has one."""
    found = classes(run)
    return {} if found is None else dict(found.frame.select("question", "class").iter_rows())


def answers(run: str) -> pl.DataFrame:
    """`workbench.run_answers.answers_of` a run."""
    return _answers(str(data.workspace().root), run)


def verdicts(run: str) -> pl.DataFrame:
    """`workbench.run_answers.verdicts_of` a run of `judge`."""
    return _verdicts(str(data.workspace().root), run)


def _named(run: str, manifest: Mapping[str, Any]) -> str:
    return f"{settings(manifest)} · {run[:8]}"


def dataset_of(manifest: Mapping[str, Any]) -> str:
    return str(manifest["identity"].get("dataset") or manifest.get("dataset") or "")


@st.cache_resource(max_entries=32, show_spinner="Looking where questions were lost …")
def _classes(root: str, run: str, version: str, _banks: BankSet | None) -> Attribution | None:
    loaded = run_table.loaded(run)
    try:
        dataset = data.dataset(dataset_of(loaded.manifest))
        return run_answers.classes_of(data.workspace(), loaded, dataset, _banks)
    except UsageError:  # sessions, or a data set that is gone
        return None


@st.cache_resource(max_entries=8, show_spinner="Looking where questions were lost …")
def _by_judge(root: str, run: str, judge: str, banks: str, _banks: BankSet) -> Attribution | None:
    loaded, verdicts = (run_table.loaded(one) for one in (run, judge))
    return run_answers.classes_by_judge(data.workspace(), loaded, verdicts, _banks)


@st.cache_resource(max_entries=8, show_spinner=False)
def _answers(root: str, run: str) -> pl.DataFrame:
    return run_answers.answers_of(data.workspace(), run_table.loaded(run))


@st.cache_resource(max_entries=8, show_spinner=False)
def _verdicts(root: str, run: str) -> pl.DataFrame:
    return run_answers.verdicts_of(data.workspace(), run_table.loaded(run))
