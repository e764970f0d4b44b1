"""The λ sweep: evidence recall of one recipe at every λ and every K, with what it means.

A run of kind "sweep-lambda" holds
    frame.parquet       question, scope, category, metric ("recall@25"), value: at the λ that the
                        test of the main K concerns (`frame_lam` in the manifest)
    surface.parquet     lam, k, mean, lo, hi: every λ with every K from 1
    difference.parquet  lam, k, difference, lo, hi: that λ less query-only retrieval, every K
    questions.parquet   question, scope, category, lam, metric, value: every λ, the chosen Ks
and in its manifest, under "report", what the command reports.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from workbench.cells import Study
from workbench.errors import UsageError
from workbench.lambda_surface import LambdaSurface, Values
from workbench.runs import run_id, save_run, write_parquet
from workbench.schema import Recipe
from workbench.workspace import Content

__all__ = ["DEPTH", "GRID", "KS", "Tables", "keep", "lambda_sweep", "long_frame"]

GRID = tuple(round(0.05 * step, 2) for step in range(21))
KS = (1, 5, 10, 25, 50, 100)
DEPTH = 200

Tables = dict[str, pl.DataFrame]


def lambda_sweep(
    study: Study,
    recipe: Recipe,
    lams: Sequence[float] = GRID,
    ks: Sequence[int] = KS,
    depth: int = DEPTH,
) -> dict[str, Any]:
    """Sweep, keep the run, and return what the command reports.

    The grid is `lams` and always λ = 1, query-only retrieval, which every λ is compared with. K
    runs from 1 to `depth` or the largest of `ks`, the Ks that are told of. Raises UsageError for a
    recipe in which λ weighs nothing.
    """
    began = time.perf_counter()
    recipe, notes = study.ready(recipe)
    _check(recipe, lams, ks)
    ks, depth = sorted(set(ks)), max(depth, *ks)
    grid = tuple(sorted({*map(float, lams), 1.0}))
    recipe = msgspec.structs.replace(recipe, lam=1.0, k=depth)
    values = study.ranks(recipe, grid).recall(range(1, depth + 1))
    surface = LambdaSurface(study, grid, values)
    rival = surface.rival(25 if 25 in ks else ks[-1])
    report = {
        "recipe": msgspec.to_builtins(recipe),
        "lams": list(grid),
        "ks": ks,
        **surface.report(ks),
        "frame_lam": grid[rival],
        "notes": notes,
    }
    tables = _tables(surface, rival, ks)
    identity = {"recipe": recipe, "lams": grid, "ks": ks, "depth": depth}
    told = keep(study, "sweep-lambda", identity, report, tables)
    return {**told, "seconds": round(time.perf_counter() - began, 3)}


def _tables(surface: LambdaSurface, rival: int, ks: Sequence[int]) -> Tables:
    columns = [k - 1 for k in ks]
    by_lam = {lam: surface.values[:, row][:, columns] for row, lam in enumerate(surface.grid)}
    questions = long_frame(surface.study, "lam", by_lam, ks)
    return {
        "frame": questions.filter(pl.col("lam") == surface.grid[rival]).drop("lam"),
        "surface": surface.frame(),
        "difference": surface.difference(rival),
        "questions": questions,
    }


def long_frame(
    study: Study, name: str, values: dict[Any, Values], ks: Sequence[int]
) -> pl.DataFrame:
    """`question, scope, category, NAME, metric, value` from (q, k) recalls by setting."""
    about = {
        "question": [q.id for q in study.questions],
        "scope": [q.scope for q in study.questions],
        "category": [q.category for q in study.questions],
    }
    return pl.concat(
        pl.DataFrame(about).with_columns(
            pl.lit(setting).alias(name),
            metric=pl.lit(f"recall@{k}"),
            value=pl.Series(found[:, column]),
        )
        for setting, found in values.items()
        for column, k in enumerate(ks)
    )


def keep(
    study: Study, kind: str, identity: dict[str, Any], report: dict[str, Any], tables: Tables
) -> dict[str, Any]:
    """Save a sweep's run; returns its report with the run's id in front.

    `tables` by file name; "frame" is the tidy one. `identity` is what the run depends on besides
    the study.
    """
    whole = msgspec.to_builtins({**study.identity, **identity})
    told = {"run": run_id(kind, whole), **study.about, **report}
    facts = {**{key: told[key] for key in ("dataset", "split", "n", "excluded")}, "report": told}
    files: dict[str, Content] = {
        f"{name}.parquet": _writer(table) for name, table in tables.items() if name != "frame"
    }
    save_run(study.workspace, kind, whole, tables["frame"], facts, files)
    return told


def _writer(table: pl.DataFrame) -> Callable[[Path], None]:
    return lambda path: write_parquet(table, path)


def _check(recipe: Recipe, lams: Sequence[float], ks: Sequence[int]) -> None:
    if recipe.prior == "none" or recipe.retriever == "lexical":
        what = "--prior none" if recipe.prior == "none" else "--retriever lexical"
        raise UsageError(f"with {what} every λ is the same: there is nothing to sweep")
    if not ks or min(ks) < 1:
        raise UsageError(f"K must be at least 1, not {min(ks, default='nothing')}")
    if not all(0 <= lam <= 1 for lam in lams) or not any(lam < 1 for lam in lams):
        raise UsageError(f"λ must lie in 0..1, and at least one below 1, not {list(lams)}")
