"""What an α landscape reports: every α beside the oracle and the questions as asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from workbench.alpha_table import AlphaTable

__all__ = ["CEILING", "choice_words", "choices_told", "lines_of"]

CEILING = "selection by gold: a ceiling of best-of-N, no training; the best α here is not a tuned α"


def choices_told(table: AlphaTable, alphas: Sequence[float], level: float) -> dict[str, Any]:
    """Recall and F1 under every α; of the oracle, the questions as asked, and a mean candidate."""
    grid = sorted(set(alphas))
    told: dict[str, Any] = {"alphas": grid, "interval": {}, "best": {"is": CEILING}}
    told |= {name: {"interval": {}} for name in ("oracle", "identity", "mean")}
    for name in ("recall", "f1"):
        values = table.column(name)
        fixed = {
            "oracle": table.best(name),
            "identity": values[:, 0],
            "mean": np.nanmean(values, axis=1),
        }
        columns = [table.chosen(alpha, name) for alpha in grid]
        mean, lo, hi = table.means([*columns, *fixed.values()], level)
        ends = [[_finite(a), _finite(b)] for a, b in zip(lo, hi, strict=True)]
        told[name] = mean[: len(grid)].tolist()
        told["interval"][name] = ends[: len(grid)]
        best = int(np.argmax(np.round(mean[: len(grid)], 9)))
        told["best"][name] = {"alpha": grid[best], "value": float(mean[best])}
        for place, one in enumerate(fixed, start=len(grid)):
            told[one][name] = float(mean[place])
            told[one]["interval"][name] = ends[place]
    told["kept"] = [float((table.picked(alpha) == 0).mean()) for alpha in grid]
    return told


def choice_words(report: Mapping[str, Any], table: AlphaTable, alpha: float) -> str:
    """What one α chooses from a landscape's table, in words that say that gold chose it."""
    choice, asked = table.choice(alpha, report["level"]), report["identity"]
    return (
        f"Best of each question and {report['made_by']}, chosen by gold at α = {alpha:g}: "
        f"{1 - choice.kept:.0%} of {len(choice.picked):,} questions take another wording; recall "
        f"{choice.recall.mean:.3f} (as asked {asked['recall']:.3f}), F1 {choice.f1.mean:.3f} (as "
        f"asked {asked['f1']:.3f}). This is {CEILING}."
    )


def lines_of(report: dict[str, Any], k: int, which: str = "chosen by gold") -> pl.DataFrame:
    """`series, alpha, mean, lo, hi`: what every α comes to (`which` says how), beside the questions
    as asked."""
    names = {"recall": f"recall@{k}", "f1": "F1"}
    parts = []
    for name, shown in names.items():
        chosen = zip(report["alphas"], report[name], report["interval"][name], strict=True)
        rows = [(f"{shown}, {which}", alpha, mean, *ends) for alpha, mean, ends in chosen]
        asked = report["identity"]
        ends = asked["interval"][name]
        rows += [(f"{shown}, as asked", a, asked[name], *ends) for a in report["alphas"]]
        parts += rows
    columns = {"series": pl.String, **dict.fromkeys(("alpha", "mean", "lo", "hi"), pl.Float64)}
    return pl.DataFrame(parts, schema=columns, orient="row")


def _finite(bound: float) -> float | None:
    return float(bound) if np.isfinite(bound) else None
