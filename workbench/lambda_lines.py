"""What a prior does at every λ: to how many questions, and beside its controls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import polars as pl

from workbench.cells import Study
from workbench.effects import GRID, Ranked
from workbench.report.tables import bounded, probability
from workbench.schema import Recipe
from workbench.settings import controls
from workbench.stats import EQUAL, interval_matrix
from workbench.sweep import DEPTH

__all__ = ["control_lines", "lambda_words", "shares"]


def shares(ranked: Ranked, k: int, level: float = 0.95) -> pl.DataFrame:
    """`series, lam, k, mean, lo, hi`: the shares of questions that the prior helps and hurts at
    every λ, judged by evidence recall@k against λ = 1."""
    values = ranked.table.recall([k])[:, :, 0]
    change = values - values[:, [ranked.lams.index(1.0)]]
    parts = []
    for name, hit in (("helped", change > EQUAL), ("hurt", change < -EQUAL)):
        spans = interval_matrix(hit.astype(float), ranked.study.clusters, level=level)
        columns = dict(zip(("mean", "lo", "hi"), spans, strict=True))
        parts.append(
            pl.DataFrame({"lam": ranked.lams, **columns}).with_columns(series=pl.lit(name))
        )
    whole = bounded(pl.concat(parts)).with_columns(k=pl.lit(k, pl.Int64))
    return whole.sort("series", "lam").select("series", "lam", "k", "mean", "lo", "hi")


def control_lines(
    study: Study, recipe: Recipe, ks: Sequence[int], lams: Sequence[float] = GRID
) -> pl.DataFrame:
    """`series, lam, k, mean, lo, hi`: evidence recall of a prior and of each of its controls.

    Raises UsageError for a prior that has no controls, as `settings.controls` does.
    """
    recipe, _ = study.ready(recipe)
    parts = []
    for setting in controls(recipe):
        if setting.recipe.prior == "none":
            continue  # the same at every λ: each line's own end
        whole = msgspec.structs.replace(setting.recipe, lam=1.0, k=max(DEPTH, *ks))
        values = study.ranks(whole, tuple(lams)).recall(sorted(ks))
        spans = interval_matrix(values.reshape(len(values), -1), study.clusters, level=study.level)
        columns = dict(zip(("mean", "lo", "hi"), spans, strict=True))
        places = {"lam": np.repeat(lams, len(ks)), "k": np.tile(sorted(ks), len(lams))}
        parts.append(pl.DataFrame({**places, **columns}).with_columns(series=pl.lit(setting.name)))
    return bounded(pl.concat(parts)).select("series", "lam", "k", "mean", "lo", "hi")


def lambda_words(report: dict[str, Any], k: int) -> list[str]:
    """What a λ sweep's report says of one of its Ks, a sentence each, with the numbers."""
    best, test, harmed = (report[name][str(k)] for name in ("best", "test_vs_query_only", "harmed"))
    low, high = report["plateau"][str(k)]
    lo, hi = test["interval"]
    span = "" if lo is None or hi is None else f" [{lo:+.3f}, {hi:+.3f}]"
    plateau = (
        f"every λ from {low:g} to {high:g} is shown to be less than a point below it (the plateau)"
        if low < high
        else "no other λ is shown to be less than a point below it, so there is no plateau"
    )
    return [
        f"Evidence recall@{k} is highest at λ = {best['lam']:g} ({best['recall']:.3f}); {plateau}.",
        f"The best λ that uses the prior, {test['lam']:g}, differs from the query alone by "
        f"{test['difference']:+.3f}{span}; p = {probability(test['p'])}, and "
        f"{probability(test['p_bonferroni'])} with the choice of λ paid for.",
        f"There the prior hurts {harmed['questions']:.0%} of the questions and helps "
        f"{harmed['helped_questions']:.0%}; of {harmed['n_users']} users it hurts "
        f"{harmed['users']:.0%} and helps {harmed['helped_users']:.0%}.",
    ]
