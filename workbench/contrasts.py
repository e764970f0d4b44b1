"""Two runs in detail: their difference by category and by question, on one measure."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from workbench.compare import LEVEL, YARDSTICK, compare
from workbench.runs import Run
from workbench.stats import EQUAL, Difference, holm, paired_difference

__all__ = ["ALL", "by_category", "by_question", "comparable", "won_by"]

ALL = "all questions"


def by_category(a: Run, b: Run, measure: str, seed: int = 0) -> pl.DataFrame:
    """`a` minus `b` on a measure: a row for all questions, then one a category, in order of name.

    `category, n, a, b` (means), `difference, lo, hi, p` and `p_holm`, corrected over the
    categories; the row of all questions is no part of that family, and its `p_holm` is null.
    `basis` says what the interval speaks of. Raises UsageError as `workbench.compare.compare`.
    """
    pairs = _pairs(a, b, measure).sort("scope", "question")
    parts = {
        name: pairs.filter(pl.col("category") == name)
        for name in sorted(pairs["category"].drop_nulls().unique())
    }
    tests = {name: _test(part, seed) for name, part in parts.items()}
    corrected = holm([test.p for test in tests.values()])
    rows = [_row(ALL, pairs, _test(pairs, seed), None)]
    rows += [
        _row(name, parts[name], tests[name], p) for name, p in zip(parts, corrected, strict=True)
    ]
    # A bound, or a corrected p, may be unknown in every row.
    kinds = dict.fromkeys(("lo", "hi", "p_holm"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)


def by_question(a: Run, b: Run, measure: str) -> pl.DataFrame:
    """`question, scope, category, a, b, difference` of every question that both runs have a value
    for, the largest differences (of either sign) first. Raises UsageError as `compare` does."""
    return _pairs(a, b, measure).sort(
        pl.col("difference").abs(), "question", descending=[True, False]
    )


def won_by(pairs: pl.DataFrame, side: str) -> pl.DataFrame:
    """The rows of `by_question` that a side ("a", "b", "same", or "" for all that differ) has."""
    gap = pl.col("difference")
    wanted = {"": gap.abs() > EQUAL, "a": gap > EQUAL, "b": gap < -EQUAL}
    return pairs.filter(wanted.get(side, gap.abs() <= EQUAL))


def comparable(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Whether two runs' manifests say that they were measured against the same yardstick."""
    facts = [[_fact(manifest, name) for name in YARDSTICK] for manifest in (a, b)]
    return facts[0] == facts[1] and _fact(a, "dataset") is not None


def _fact(manifest: dict[str, Any], name: str) -> Any:
    return manifest.get("identity", {}).get(name, manifest.get(name))


def _pairs(a: Run, b: Run, measure: str) -> pl.DataFrame:
    """The questions with a value in both runs; `compare` refuses what cannot be compared."""
    compare(a, b, [measure])
    first, second = (
        run.frame.filter(pl.col("metric") == measure, pl.col("value").is_finite()) for run in (a, b)
    )
    return first.join(second, on=["question", "scope"], suffix="_b").select(
        "question",
        "scope",
        "category",
        a=pl.col("value"),
        b=pl.col("value_b"),
        difference=pl.col("value") - pl.col("value_b"),
    )


def _test(part: pl.DataFrame, seed: int) -> Difference:
    a, b = (part[side].to_numpy() for side in ("a", "b"))
    return paired_difference(a, b, part["scope"].to_list(), seed=seed, level=LEVEL)


def _row(name: str, part: pl.DataFrame, test: Difference, p_holm: float | None) -> dict[str, Any]:
    means = {side: float(np.mean(part[side].to_numpy())) for side in ("a", "b")}
    found = {"difference": test.difference, "lo": test.lo, "hi": test.hi, "p": test.p}
    return {"category": name, "n": test.n, **means, **found, "p_holm": p_holm, "basis": test.basis}
