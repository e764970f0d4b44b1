"""Tidy frames to estimates: a mean, its interval and n for each measure, category and cut-off."""

from __future__ import annotations

import polars as pl

from workbench.passport import Passport
from workbench.stats import mean_interval

__all__ = ["at_cutoffs", "estimates"]

SHAPE = {"n": pl.Int64, "mean": pl.Float64, "lo": pl.Float64, "hi": pl.Float64}


def estimates(frame: pl.DataFrame, by: list[str], passport: Passport) -> pl.DataFrame:
    """One row for each group of a tidy frame, in order of appearance: `*by, n, mean, lo, hi`.

    Intervals are `stats.mean_interval`'s over scopes, at the passport's level; an end that nothing
    tells is null.
    """
    rows = []
    for group in frame.drop_nulls("value").partition_by(by, maintain_order=True):
        found = mean_interval(
            group["value"].to_numpy(),
            group["scope"].to_list(),
            level=passport.level,
        )
        keys = [group[name][0] for name in by]
        rows.append((*keys, found.n, found.mean, found.lo, found.hi))
    schema = {name: frame.schema[name] for name in by} | SHAPE
    return pl.DataFrame(rows, schema=schema, orient="row")


def at_cutoffs(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows whose metric has a cut-off ("recall@25"), with the columns `measure` and `k`."""
    parts = pl.col("metric").str.split_exact("@", 1)
    return (
        frame.filter(pl.col("metric").str.contains(r"^[^@]+@\d+$"))
        .with_columns(
            measure=parts.struct.field("field_0"),
            k=parts.struct.field("field_1").cast(pl.Int64),
        )
        .sort("k", maintain_order=True)
    )
