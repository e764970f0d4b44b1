"""What a prior does at every λ, as the notebook on λ and α shows it; and what training did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import plotly.graph_objects as go
import polars as pl

from workbench import figures
from workbench.cells import Study
from workbench.curves import passport_of_runs
from workbench.effects import Ranked, flipped, ranked
from workbench.errors import UsageError
from workbench.figures.drawing import again
from workbench.lambda_lines import control_lines, shares
from workbench.library import open_banks
from workbench.memory_kinds import set_named
from workbench.passport import passport_of
from workbench.report.reproduction import Maker
from workbench.report.tables import kept_table
from workbench.runs import Run, load_run
from workbench.scenes.words import study_of, worded_again
from workbench.schema import Recipe
from workbench.workspace import Workspace

__all__ = [
    "MAKERS",
    "control_bars",
    "control_curves",
    "flips_at",
    "lambda_curve",
    "lambda_curves",
    "landscape_at",
    "shares_by_lam",
    "surface_of",
    "training_of",
]

# What a run's questions and their ranks depend on, and its word for people.
DEPENDS = {"content": "the data", "questions": "the questions", "banks": "the memories"}


def surface_of(workspace: Workspace, run: Run, ks: Sequence[int]) -> go.Figure:
    """The λ × K map of a λ sweep, at some of its Ks."""
    surface = kept_table(workspace, run.id, "surface").filter(pl.col("k").is_in(list(ks)))
    drawn = figures.recall_surface(surface, passport_of(run))
    return again(drawn, "lambda-surface", run=run.id, ks=list(ks))


def lambda_curve(workspace: Workspace, run: Run, k: int) -> go.Figure:
    """Recall by λ at one of the Ks that a λ sweep tells of, with its plateau."""
    low, high = run.manifest["report"]["plateau"][str(k)]
    surface = kept_table(workspace, run.id, "surface")
    drawn = figures.lambda_sensitivity(surface, passport_of(run), k, (low, high))
    return again(drawn, "lambda-curve", run=run.id, k=k)


def lambda_curves(workspace: Workspace, runs: Mapping[str, Run], k: int) -> go.Figure:
    """Recall by λ of several sweeps of the same questions under their names, at a K of them all."""
    frame = pl.concat(
        kept_table(workspace, run.id, "surface").with_columns(series=pl.lit(name))
        for name, run in runs.items()
    )
    drawn = figures.lambda_sensitivity(frame, passport_of_runs(runs.values()), k)
    ids = [[name, run.id] for name, run in runs.items()]
    return again(drawn, "lambda-curves", runs=ids, k=k)


def flips_at(found: Ranked, run: Run, lam: float, k: int, rewriter: str = "") -> go.Figure:
    """The questions that one cell of a λ sweep flips; `found` ranks them under its recipe, in the
    words of `rewriter`, a name of `rewriters.rewriter_labels`."""
    drawn = figures.rank_flips(flipped(found.at(lam, k)), passport_of(run), lam, k)
    return again(drawn, "flips", run=run.id, lam=lam, k=k, **_in_words(rewriter))


def shares_by_lam(found: Ranked, run: Run, k: int, rewriter: str = "") -> go.Figure:
    """How many questions every λ of a sweep helps and hurts; `found` ranks them."""
    drawn = figures.effect_shares(shares(found, k), passport_of(run), k)
    return again(drawn, "effect-shares", run=run.id, k=k, **_in_words(rewriter))


def control_curves(frame: pl.DataFrame, run: Run, k: int, rewriter: str = "") -> go.Figure:
    """Recall by λ of a prior and its controls, `lambda_lines.control_lines`; `run` tested them."""
    drawn = figures.lambda_sensitivity(frame, passport_of(run), k)
    return again(drawn, "control-curves", run=run.id, k=k, **_in_words(rewriter))


def control_bars(workspace: Workspace, run: Run, k: int) -> go.Figure:
    """A prior and its controls at the λ of a run of kind "sweep-controls"."""
    lam = run.manifest["identity"]["recipe"]["lam"]
    rows = kept_table(workspace, run.id, "settings").filter(pl.col("k") == k)
    said = f"evidence recall@{k}, λ = {lam:g}"
    drawn = figures.ablation_bars(rows, passport_of(run), said, "Control priors")
    return again(drawn, "control-bars", run=run.id, k=k)


def landscape_at(workspace: Workspace, run: Run, alpha: float) -> go.Figure:
    """The landscape of a run of kind "sweep-alpha", one α marked."""
    landscape = kept_table(workspace, run.id, "landscape")
    drawn = figures.alpha_landscape(landscape, passport_of(run), alpha)
    return again(drawn, "alpha-landscape", run=run.id, alpha=alpha)


def training_of(workspace: Workspace, run: Run) -> go.Figure:
    """The curves of a run of kind "train"."""
    drawn = figures.training_curves(kept_table(workspace, run.id, "training"), passport_of(run))
    return again(drawn, "training-curves", run=run.id)


# ---------------------------------------------------------------- drawn again


def _in_words(rewriter: str) -> dict[str, str]:
    """What a figure's `again` says of a rewriter: nothing for the questions as asked."""
    return {"rewriter": rewriter} if rewriter else {}


def _study(workspace: Workspace, run: Run, rewriter: str = "") -> Study:
    """The study that a sweep measured. Raises UsageError where it is another one by now, or its
    rewriter is not here."""
    identity = run.manifest["identity"]
    memories = set_named(identity["memories"], identity["banks"])
    embedder = identity["embedder"]
    banks = open_banks(workspace, identity["dataset"], memories, embedder)
    split = identity["split"]
    plain = study_of(workspace, banks, worded_again(workspace, banks, rewriter, split), split)
    study = replace(plain, seed=identity["seed"], level=identity["level"])
    now = study.identity
    for name, said in DEPENDS.items():
        if now[name] != identity[name]:
            raise UsageError(
                f"{said} of {identity['dataset']} changed since run {run.id}: {identity[name]} "
                f"then, {now[name]} now"
            )
    return study


def _ranked(workspace: Workspace, run: Run, rewriter: str) -> Ranked:
    identity = run.manifest["identity"]
    recipe = msgspec.convert(identity["recipe"], Recipe)
    return ranked(_study(workspace, run, rewriter), recipe, identity["lams"])


def _surface_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    return surface_of(workspace, load_run(workspace, how["run"]), how["ks"])


def _lambda_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    return lambda_curve(workspace, load_run(workspace, how["run"]), how["k"])


def _lambdas_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    runs = {name: load_run(workspace, run) for name, run in how["runs"]}
    return lambda_curves(workspace, runs, how["k"])


def _flips_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    run, words = load_run(workspace, how["run"]), how.get("rewriter", "")
    return flips_at(_ranked(workspace, run, words), run, how["lam"], how["k"], words)


def _shares_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    run, words = load_run(workspace, how["run"]), how.get("rewriter", "")
    return shares_by_lam(_ranked(workspace, run, words), run, how["k"], words)


def _controls_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    run, words = load_run(workspace, how["run"]), how.get("rewriter", "")
    recipe = msgspec.convert(run.manifest["identity"]["recipe"], Recipe)
    frame = control_lines(_study(workspace, run, words), recipe, (how["k"],))
    return control_curves(frame, run, how["k"], words)


def _bars_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    return control_bars(workspace, load_run(workspace, how["run"]), how["k"])


def _landscape_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    return landscape_at(workspace, load_run(workspace, how["run"]), how["alpha"])


def _training_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    return training_of(workspace, load_run(workspace, how["run"]))


MAKERS: dict[str, Maker] = {
    "lambda-surface": _surface_again,
    "lambda-curve": _lambda_again,
    "lambda-curves": _lambdas_again,
    "flips": _flips_again,
    "effect-shares": _shares_again,
    "control-curves": _controls_again,
    "control-bars": _bars_again,
    "alpha-landscape": _landscape_again,
    "training-curves": _training_again,
}
