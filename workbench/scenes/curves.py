"""Evidence by K as the notebook on evidence recall shows it: several runs in one figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import plotly.graph_objects as go
import polars as pl

from workbench import figures
from workbench.ceilings import ceilings
from workbench.curves import (
    MEASURES,
    by_category,
    curves,
    difference,
    only,
    passport_of_runs,
)
from workbench.errors import UsageError
from workbench.figures.curves import Level, Measure
from workbench.figures.drawing import again
from workbench.library import BankSet, open_banks
from workbench.memory_kinds import set_named
from workbench.metrics import Plan
from workbench.passport import passport_of
from workbench.report.reproduction import Maker
from workbench.runs import Run, load_run
from workbench.workspace import Workspace

__all__ = [
    "MAKERS",
    "category_curves",
    "difference_of",
    "dots_of",
    "evidence_curves",
    "found_curves",
    "level_curves",
]

Runs = Mapping[str, Run]


def evidence_curves(
    runs: Runs,
    measure: Measure = "recall",
    level: Level = "turn",
    by: str = "",
    category: str = "",
    limits: pl.DataFrame | None = None,
) -> go.Figure:
    """A curve for each run under its name: of the questions of one category, or of all for "".
    `limits` are the ceilings of `workbench.ceilings`."""
    kept = _of_category(runs, category)
    drawn = figures.recall_curves(
        curves(kept, [measure]), passport_of_runs(kept.values()), measure, level, limits, by
    )
    how = {"runs": _ids(runs), "measure": measure, "level": level, "by": by, "category": category}
    return again(drawn, "evidence-curves", **how, ceilings=limits is not None)


def found_curves(run: Run, level: Level = "turn", category: str = "") -> go.Figure:
    """Share, any and all of the evidence, a curve each, of one run."""
    kept = only(run, category)
    drawn = figures.recall_curves(
        curves({"": kept}, list(MEASURES)), passport_of(kept), level=level
    )
    drawn.update_layout(
        title_text="Share, any and all of the evidence by K",
        title_subtitle_text="with the prior; any ≥ share ≥ all, whatever the ranking",
        yaxis_title_text="mean over questions",
    )
    return again(drawn, "found-curves", run=run.id, level=level, category=category)


def level_curves(runs: Runs, measure: Measure = "recall", category: str = "") -> go.Figure:
    """Curves of runs that count by turn and by session."""
    kept = _of_category(runs, category)
    drawn = figures.recall_curves(curves(kept, [measure]), passport_of_runs(kept.values()), measure)
    drawn.update_layout(
        title_text="Evidence found by turn and by session",
        title_subtitle_text="by turn K counts memories; by session it counts sessions",
    )
    return again(drawn, "level-curves", runs=_ids(runs), measure=measure, category=category)


def category_curves(run: Run, measure: Measure = "recall", level: Level = "turn") -> go.Figure:
    """A curve for each category of one run."""
    drawn = figures.recall_curves(
        by_category(run, [measure]), passport_of(run), measure, level, by="category"
    )
    return again(drawn, "category-curves", run=run.id, measure=measure, level=level)


def dots_of(runs: Runs, measure: Measure, k: int) -> go.Figure:
    """Every category of some runs at one K, side by side."""
    dots = pl.concat(
        by_category(run, [measure]).filter(pl.col("k") == k).with_columns(series=pl.lit(name))
        for name, run in runs.items()
    )
    drawn = figures.category_dots(dots, passport_of_runs(runs.values()), f"{measure}@{k}")
    return again(drawn, "category-dots", runs=_ids(runs), measure=measure, k=k)


def difference_of(
    pair: tuple[Run, Run], names: tuple[str, str], measure: Measure = "recall", category: str = ""
) -> go.Figure:
    """The first run less the second at every K, over the questions of both."""
    one, other = (only(run, category) for run in pair)
    gap = difference(one, other, measure)
    drawn = figures.difference_curve(gap.curve, passport_of(one, other), names, measure)
    how = {"runs": [run.id for run in pair], "names": list(names), "measure": measure}
    return again(drawn, "evidence-difference", **how, category=category)


def _of_category(runs: Runs, category: str) -> dict[str, Run]:
    """The runs with the questions of a category; those that have none of them are left out."""
    kept = {name: only(run, category) for name, run in runs.items()}
    return {name: run for name, run in kept.items() if len(run.frame)}


def _ids(runs: Runs) -> list[list[str]]:
    """Names and ids in their order, which JSON objects would not keep for certain."""
    return [[name, run.id] for name, run in runs.items()]


# ---------------------------------------------------------------- drawn again


def _loaded(workspace: Workspace, ids: Iterable[Iterable[str]]) -> dict[str, Run]:
    return {name: load_run(workspace, run) for name, run in ids}


def _curves_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    runs = _loaded(workspace, how["runs"])
    shown = (how["measure"], how["level"], how["by"], how["category"])
    limits = None
    if how["ceilings"]:
        first = next(iter(runs.values()))
        identity = first.manifest["identity"]
        plan = {name: identity[name] for name in ("ks", "split", "level", "gold")}
        limits = ceilings(_banks_of(workspace, first), msgspec.convert(plan, Plan))
    return evidence_curves(runs, *shown, limits)


def _banks_of(workspace: Workspace, run: Run) -> BankSet:
    """The banks that a run measured. Raises UsageError where the workspace has others by now."""
    identity, recipe = run.manifest["identity"], run.manifest["identity"]["recipe"]
    memories = set_named(recipe["memories"], identity["banks"])
    banks = open_banks(workspace, identity["dataset"], memories, recipe["embedder"])
    if banks.id != identity["banks"]:
        raise UsageError(
            f"the data of {identity['dataset']} or what makes memories of it has changed since run "
            f"{run.id}: banks {identity['banks']} then, {banks.id} now"
        )
    return banks


def _found_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    return found_curves(load_run(workspace, how["run"]), how["level"], how["category"])


def _levels_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    return level_curves(_loaded(workspace, how["runs"]), how["measure"], how["category"])


def _categories_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    return category_curves(load_run(workspace, how["run"]), how["measure"], how["level"])


def _dots_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    return dots_of(_loaded(workspace, how["runs"]), how["measure"], how["k"])


def _difference_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    one, other = (load_run(workspace, run) for run in how["runs"])
    first, second = how["names"]
    return difference_of((one, other), (first, second), how["measure"], how["category"])


MAKERS: dict[str, Maker] = {
    "evidence-curves": _curves_again,
    "found-curves": _found_again,
    "level-curves": _levels_again,
    "category-curves": _categories_again,
    "category-dots": _dots_again,
    "evidence-difference": _difference_again,
}
