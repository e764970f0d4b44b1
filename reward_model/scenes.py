"""Figures of the reward model that no run keeps, and how each is drawn again.

As `workbench.scenes`: interfaces call these functions, `workbench reproduce` those in `MAKERS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from reward_model.agreement import PAPER, preference_table
from reward_model.evaluate import KIND
from reward_model.figures import (
    comparisons_passport,
    contribution_waterfall,
    model_passport,
    preference_dots,
)
from reward_model.fitting import explain_comparison
from reward_model.quality import quality_filter
from reward_model.ready import ready_model, ready_set
from reward_model.schema import ComparisonSet
from reward_model.scores import Scores, load_scores
from workbench.errors import UsageError
from workbench.figures.drawing import again
from workbench.report.reproduction import Maker
from workbench.runs import load_run
from workbench.workspace import Workspace

__all__ = ["MAKERS", "pair_of", "preferences_of"]


def preferences_of(chosen: ComparisonSet) -> go.Figure:
    """What is preferred by regime, of the comparisons that pass the quality filter."""
    rows = preference_table(quality_filter(chosen.comparisons).kept, ("regime",))
    passport = comparisons_passport(chosen, rows)
    drawn = preference_dots(rows, passport, PAPER["preference by regime"])
    return again(drawn, "preferences", judgments=chosen.name)


def pair_of(
    workspace: Workspace, run: str, chosen: ComparisonSet, scores: Scores, comparison: str
) -> tuple[go.Figure, dict[str, Any]]:
    """The log odds of one comparison under the model that belongs to an evaluation, as a sum; and
    the same as `fitting.explain_comparison` tells it. Raises as that does."""
    model = ready_model(chosen, scores, load_run(workspace, run).manifest)
    explained = explain_comparison(model, chosen, scores, comparison)
    drawn = contribution_waterfall(explained, model_passport(model.file_))
    return again(drawn, "pair-explained", evaluation=run, comparison=comparison), explained


# ---------------------------------------------------------------- drawn again


def _preferences_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    return preferences_of(ready_set(workspace, how["judgments"]))


def _pair_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    run = load_run(workspace, how["evaluation"])
    if run.manifest["kind"] != KIND:
        raise UsageError(f"run {run.id} is no evaluation of a reward model")
    identity = run.manifest["identity"]
    chosen = ready_set(workspace, identity["dataset"])
    if chosen.content != identity["content"]:
        raise UsageError(
            f"the judgments {chosen.name} changed since run {run.id}: {identity['content']} then, "
            f"{chosen.content} now"
        )
    scores = load_scores(workspace, chosen.name, identity["scores"])
    return pair_of(workspace, run.id, chosen, scores, how["comparison"])[0]


MAKERS: dict[str, Maker] = {
    "preferences": _preferences_again,
    "pair-explained": _pair_again,
}
