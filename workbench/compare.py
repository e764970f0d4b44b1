"""Two runs over the questions that both have: differences, intervals, tests corrected by Holm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from workbench.errors import UsageError
from workbench.runs import COLUMNS, Run, load_run
from workbench.stats import Difference, holm, paired_difference
from workbench.workspace import Workspace

__all__ = ["LEVEL", "YARDSTICK", "compare", "compare_runs"]

LEVEL = 0.95

# What two runs must have been measured against alike, by the keys of their identity: "content" is
# a dataset's version, "level" the level (turns or sessions) at which evidence counts as found.
YARDSTICK = ("dataset", "content", "gold", "level")


def compare_runs(
    workspace: Workspace,
    run_a: str,
    run_b: str,
    measures: Sequence[str] | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """`compare` of two runs of a workspace, by their ids or the beginnings of these."""
    return compare(load_run(workspace, run_a), load_run(workspace, run_b), measures, seed)


def compare(a: Run, b: Run, measures: Sequence[str] | None = None, seed: int = 0) -> dict[str, Any]:
    """`a` minus `b` on every measure that both have, or on those named.

    Each measure has the means "a" and "b" over the `n` questions that both runs have a value for,
    "difference", its "interval" (see `workbench.intervals`), "p" of the paired permutation test
    and "p_holm", corrected for the family of the measures compared. "only_a" and "only_b" count
    questions that one run alone has; they enter nothing. Where a measure isn't defined for all
    shared questions, its n is smaller; where it is for none, "no_pairs" names it.

    Raises UsageError where the runs are of different datasets, versions, gold or level, where one
    has no value per question, and where they share no question or measure.
    """
    _same_yardstick(a, b)
    first, second = _values(a, "a"), _values(b, "b")
    _same_scopes(a, first, b, second)
    shared = [m for m in _measures(first) if m in set(_measures(second))]
    chosen = _chosen(shared, measures, a, b)
    key = ["question", "scope", "metric"]
    pairs = first.join(second, on=key, how="inner").sort("scope", "question")
    found = {m: part for m in chosen if len(part := pairs.filter(pl.col("metric") == m))}
    if not found:
        raise UsageError(f"runs {a.id} and {b.id} have no question in common")
    tests = {m: _difference(part, seed) for m, part in found.items()}
    corrected = holm([test.p for test in tests.values()])
    return {
        "a": _label(a),
        "b": _label(b),
        **_overlap(set(first["question"]), set(second["question"])),
        "level": LEVEL,
        "seed": seed,
        "clusters": max(test.clusters for test in tests.values()),
        "basis": {m: test.basis for m, test in tests.items()},
        "measures": {m: _row(found[m], tests[m], p) for m, p in zip(tests, corrected, strict=True)},
        "no_pairs": [m for m in chosen if m not in found],
        "not_shared": {
            side: sorted(set(_measures(frame)) - set(shared))
            for side, frame in (("a", first), ("b", second))
        },
    }


def _same_yardstick(a: Run, b: Run) -> None:
    for name in YARDSTICK:
        one, other = (_fact(run, name) for run in (a, b))
        kinds = [str(run.manifest.get("kind")) for run in (a, b)]
        if one != other and name == "content" and len({*kinds}) == 2:
            raise UsageError(
                f"runs {a.id} ({kinds[0]}) and {b.id} ({kinds[1]}) can't be compared: kinds of run "
                "name their data in ways of their own. Compare two of one kind; one λ of a sweep "
                f"is a run of its own with: workbench recall {_fact(a, 'dataset')} --lam λ"
            )
        if one != other:
            raise UsageError(
                f"runs {a.id} and {b.id} can't be compared: {name} is {one!r} in one and "
                f"{other!r} in the other"
            )
    if _fact(a, "dataset") is None:
        raise UsageError(f"runs {a.id} and {b.id} don't name the dataset they are of")


def _fact(run: Run, name: str) -> Any:
    """What a run says of itself, in its identity or beside it; None where it doesn't."""
    return run.manifest.get("identity", {}).get(name, run.manifest.get(name))


def _values(run: Run, side: str) -> pl.DataFrame:
    """`question, scope, metric` and the value in a column named by the side; undefined values
    (null, NaN) are values that the run doesn't have."""
    missing = [name for name in COLUMNS if name not in run.frame.columns]
    if missing:
        kind = run.manifest.get("kind", "unknown")
        raise UsageError(f"run {run.id} ({kind}) has no values by question: no {missing[0]!r}")
    frame = run.frame.select("question", "scope", "metric", pl.col("value").alias(side))
    frame = frame.filter(pl.col(side).is_finite())
    twice = frame.filter(frame.select("question", "metric").is_duplicated())
    if len(twice):
        question, metric = twice["question"][0], twice["metric"][0]
        raise UsageError(f"run {run.id} has several values of {metric} for question {question!r}")
    return frame


def _same_scopes(a: Run, first: pl.DataFrame, b: Run, second: pl.DataFrame) -> None:
    """A question id that means two scopes is not the same question."""
    places = [frame.select("question", "scope").unique() for frame in (first, second)]
    both = places[0].join(places[1], on="question", suffix="_b")
    odd = both.filter(pl.col("scope") != pl.col("scope_b"))
    if len(odd):
        question, one, other = odd.sort("question").row(0)
        raise UsageError(
            f"runs {a.id} and {b.id} are of different data: question {question!r} is of {one!r} "
            f"in one and of {other!r} in the other"
        )


def _measures(frame: pl.DataFrame) -> list[str]:
    """In the order in which the run has them."""
    return frame["metric"].unique(maintain_order=True).to_list()


def _chosen(shared: list[str], measures: Sequence[str] | None, a: Run, b: Run) -> list[str]:
    unknown = [name for name in measures or () if name not in shared]
    if unknown or not shared:
        what = f"measure {unknown[0]!r}" if unknown else "measure"
        known = f"; they share: {', '.join(shared)}" if shared else ""
        raise UsageError(f"runs {a.id} and {b.id} share no {what}{known}")
    return list(dict.fromkeys(measures)) if measures else shared


def _difference(part: pl.DataFrame, seed: int) -> Difference:
    a, b = (part[side].to_numpy() for side in ("a", "b"))
    return paired_difference(a, b, part["scope"].to_list(), seed=seed, level=LEVEL)


def _overlap(a: set[str], b: set[str]) -> dict[str, int]:
    return {"n": len(a & b), "only_a": len(a - b), "only_b": len(b - a)}


def _row(part: pl.DataFrame, test: Difference, p_holm: float) -> dict[str, Any]:
    return {
        "a": float(np.mean(part["a"].to_numpy())),
        "b": float(np.mean(part["b"].to_numpy())),
        "difference": test.difference,
        "interval": [test.lo, test.hi],
        "p": test.p,
        "p_holm": p_holm,
        "n": test.n,
    }


def _label(run: Run) -> dict[str, Any]:
    return {"run": run.id, "kind": run.manifest.get("kind"), "dataset": _fact(run, "dataset")}
