"""The reward model's protocol (SPEC B.4) against the same one written with scikit-learn's parts.

Both run on the same table of splits, for the three variants (12, 3 and 9 columns), on 291 made-up
comparisons of up to 87 participants, on one BLAS thread (which is faster for both). The rivals are
scikit-learn's default solver and the one that suits such data best. Shown are how often they choose
the same C, and the largest gap between predictions where they do; the last column is the gap once
scikit-learn has refitted with a tolerance of 1e-10 instead of its own 1e-4.

    python tests/bench/bench_reward_protocol.py [comparisons] [participants]
"""

from __future__ import annotations

import os
import sys
import time
import warnings

import numpy as np
import sklearn
from common import row
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from reward_model.protocol import GRID, Splits, draw_splits, held_out

# The paper's coefficients (SPEC B.3), as the truth of the made-up preferences.
WEIGHTS = (0.646, 0.571, 0.386, 0.323, -0.201, 0.191, 0.147, 0.125, 0.124, -0.083, 0.036, 0.030)
MEMORY = (2, 3, 4)
SOLVERS = ("lbfgs", "newton-cholesky")
VARIANTS = {
    "full": tuple(range(12)),
    "memory_only": MEMORY,
    "response_only": tuple(one for one in range(12) if one not in MEMORY),
}


def made_up(n: int, people: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 12))
    y = (rng.random(n) < 1 / (1 + np.exp(-(x @ WEIGHTS + 0.2)))).astype(float)
    return x, y, [f"p{one:03d}" for one in rng.integers(people, size=n)]


def by_scikit_learn(
    x: np.ndarray, y: np.ndarray, splits: Splits, solver: str
) -> tuple[np.ndarray, np.ndarray]:
    """Predictions (repeats, n) and choices of C (repeats, folds), with GridSearchCV in a loop."""
    each = np.empty(splits.fold.shape)
    chosen = np.empty((len(splits.fold), splits.folds))
    for repeat, fold in enumerate(splits.fold):
        for held in range(splits.folds):
            train = fold != held
            inner = splits.inner[repeat, held, train]
            cv = [(np.flatnonzero(inner != k), np.flatnonzero(inner == k)) for k in set(inner)]
            search = GridSearchCV(
                make_pipeline(StandardScaler(), LogisticRegression(solver=solver, max_iter=1000)),
                {"logisticregression__C": GRID},
                scoring="accuracy",
                cv=cv,
            ).fit(x[train], y[train])
            each[repeat, ~train] = search.predict_proba(x[~train])[:, 1]
            chosen[repeat, held] = search.best_params_["logisticregression__C"]
    return each, chosen


def refitted(x: np.ndarray, y: np.ndarray, splits: Splits, chosen: np.ndarray) -> np.ndarray:
    """Predictions (repeats, n) of scikit-learn at these C, to the last digits."""
    each = np.empty(splits.fold.shape)
    for repeat, fold in enumerate(splits.fold):
        for held in range(splits.folds):
            train = fold != held
            fit = LogisticRegression(C=chosen[repeat, held], tol=1e-10, max_iter=10_000)
            model = make_pipeline(StandardScaler(), fit).fit(x[train], y[train])
            each[repeat, ~train] = model.predict_proba(x[~train])[:, 1]
    return each


def timed(function, *given):
    wall, cpu = time.perf_counter(), time.process_time()
    found = function(*given)
    return found, time.perf_counter() - wall, time.process_time() - cpu


def main(n: int = 291, people: int = 87) -> None:
    warnings.simplefilter("error")
    x, y, who = made_up(n, people)
    splits, drawing, _ = timed(draw_splits, who)
    print(
        f"{n} comparisons, {len(set(who))} participants, {len(splits.fold)} x {splits.folds} folds,"
        f" {os.cpu_count()} cores, scikit-learn {sklearn.__version__}; splits: {drawing:.2f} s"
    )
    row("", "columns", "wall, s", "CPU, s", "same C", "gap", "gap at 1e-10")
    totals = dict.fromkeys(("ours", *SOLVERS), 0.0)
    for name, columns in VARIANTS.items():
        part = np.ascontiguousarray(x[:, columns])
        ours, *seconds = timed(held_out, part, y, splits)
        totals["ours"] += seconds[0]
        exact = np.abs(ours.each - refitted(part, y, splits, ours.C)).max()
        cells = [f"{one:.2f}" for one in seconds]
        row(f"{name}, ours", str(len(columns)), *cells, "", "", f"{exact:.1e}")
        for solver in SOLVERS:
            (each, chosen), *seconds = timed(by_scikit_learn, part, y, splits, solver)
            totals[solver] += seconds[0]
            same = chosen == ours.C
            gap = np.abs(ours.each - each)[same[np.arange(len(same))[:, None], splits.fold]].max()
            cells = [f"{one:.2f}" for one in seconds]
            row(f"  {solver}", "", *cells, f"{same.sum()}/{same.size}", f"{gap:.1e}")
    print("three variants: " + ", ".join(f"{name} {one:.2f} s" for name, one in totals.items()))


if __name__ == "__main__":
    with threadpool_limits(1):
        main(*map(int, sys.argv[1:]))
