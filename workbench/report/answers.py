"""What scored answers come to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from workbench import figures
from workbench.figures.drawing import estimate
from workbench.passport import Passport
from workbench.report.tables import Found, Table
from workbench.runs import Run
from workbench.workspace import Workspace

__all__ = ["answers"]

# The measures that are drawn and told; the tables hold all.
TOLD = {
    "f1_squad": "F1, SQuAD",
    "f1_locomo": "F1, LoCoMo official",
    "f1_whitespace": "F1, white space, case kept",
    "bleu1": "BLEU-1",
}


def answers(workspace: Workspace, run: Run, passport: Passport) -> Found:
    """Micro and macro means and categories of a run of kind "score" or "evaluate", as the command
    reported them."""
    told = run.manifest.get("report", run.manifest)
    measures = told["measures"]
    means = [
        {"measure": name, "mean_over": over, **_ends(one[key], one[interval])}
        for name, one in measures.items()
        for over, key, interval in (
            ("questions (micro)", "micro", "interval"),
            ("categories (macro)", "macro", "macro_interval"),
        )
    ]
    parts = pl.DataFrame(
        [
            {"measure": name, "category": category, "n": found["n"]}
            | _ends(found["mean"], found["interval"])
            for name, one in measures.items()
            for category, found in one["by_category"].items()
        ]
    )
    tables = [
        Table("measures", "Answer measures", pl.DataFrame(means)),
        Table("categories", "Answer measures by category", parts),
    ]
    shown = parts.filter(pl.col("measure").is_in(list(TOLD)))
    shown = shown.with_columns(series=pl.col("measure").replace(TOLD))
    drawn = {"categories": figures.category_dots(shown, passport, "Answer measures")}
    return Found(list(_lead(told)), tables, drawn)


def _lead(told: dict[str, Any]) -> Iterator[str]:
    for key, name in TOLD.items():
        if one := told["measures"].get(key):
            micro = estimate(_ends(one["micro"], one["interval"]))
            yield f"{name}: {micro} over questions, {one['macro']:.3f} over categories."
    missing, failed = (len(told.get(key) or ()) for key in ("missing", "failed"))
    yield f"{missing} questions have no answer, {failed} rows could not be used."
    ceiling = told.get("ceiling")
    if ceiling and ceiling["disputed"]:
        yield (
            f"An audit disputes {ceiling['disputed']} of these {ceiling['n']} golds: at most "
            f"{ceiling['share']:.1%} of true answers can be right."
        )


def _ends(mean: float, interval: list[float | None]) -> dict[str, Any]:
    return {"mean": mean, "lo": interval[0], "hi": interval[1]}
