"""The paper's protocol: who is held out when, how C is chosen, what is predicted (SPEC B.4).

Five folds of participants, shuffled ten times; in each fold C is chosen by four inner folds of the
remaining participants, on accuracy; features are standardised on the rows that are trained on, and
on no others; a comparison's prediction is the mean of its ten held-out probabilities. The table of
splits is drawn once, and every variant of the model is run on the same one.

`tests/bench/bench_reward_protocol.py` holds it against the same protocol in scikit-learn's parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import expit

from reward_model.logistic import fit_path, scale_of
from workbench.errors import UsageError

__all__ = ["GRID", "HeldOut", "Splits", "draw_splits", "held_out", "predicted"]

Vector = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

GRID = (0.003, 0.01, 0.03, 0.1, 0.3)  # of C (SPEC B.4)
EVEN = 1e-12  # accuracies this near are equal
ONE_CLASS = "training folds of one class (their rate, (k + 1) / (n + 2), is predicted)"
ONE_CLASS_INNER = "inner training folds of one class (it is predicted)"
NO_CHOICE = "training folds of one participant (the smallest C is taken)"
TIED = "choices of C with several best ones (the smallest of them is taken)"


class Splits(NamedTuple):
    """Who is held out when, for n comparisons.

    `fold` (repeats, n) is the outer fold that holds a comparison out. `inner` (repeats, folds, n)
    is its inner fold while that outer fold is held out, -1 where it is held out itself.
    `participants` (n,) are the comparisons', `folds` and `notes` say what became of the wish.
    """

    participants: tuple[str, ...]
    fold: Whole
    inner: Whole
    folds: int
    notes: tuple[str, ...]

    def table(self, ids: Sequence[str]) -> pl.DataFrame:
        """Rows of comparison, participant, repeat, fold (both from 0), and `inner`: the list of
        inner folds by outer fold, null at its own."""
        repeats, n = self.fold.shape
        inner = [
            [None if one < 0 else int(one) for one in self.inner[repeat, :, row]]
            for repeat in range(repeats)
            for row in range(n)
        ]
        return pl.DataFrame(
            {
                "comparison": list(ids) * repeats,
                "participant": list(self.participants) * repeats,
                "repeat": np.repeat(np.arange(repeats), n),
                "fold": self.fold.ravel(),
                "inner": inner,
            },
            schema_overrides={"inner": pl.List(pl.Int64)},
        )


class HeldOut(NamedTuple):
    """What a model predicted without having seen the participant.

    `probability` (n,) is that of preferring memory, the mean over `each` (repeats, n). `others`
    (m,) are those of further comparisons. `C` (repeats, folds) is what was chosen, NaN where
    nothing was fitted. `degenerate` counts the folds that were no ordinary ones, by what they were.
    """

    probability: Vector
    each: Vector
    others: Vector
    C: Vector
    degenerate: dict[str, int]


def draw_splits(
    participants: Sequence[str], repeats: int = 10, folds: int = 5, inner: int = 4, seed: int = 0
) -> Splits:
    """Draw the table of splits for comparisons of these participants (n,).

    It depends on who took part and on the seed, not on the order of the comparisons. Fewer
    participants than folds: as many folds as participants, with a note. Raises UsageError for
    fewer than two of either, or no repeats.
    """
    if folds < 2 or inner < 2 or repeats < 1:
        raise UsageError(
            "the protocol needs at least 2 folds, 2 inner ones and 1 repeat, "
            f"not {folds}, {inner} and {repeats}"
        )
    names, who = np.unique(np.asarray(participants, dtype=str), return_inverse=True)
    if len(names) < 2:
        raise UsageError(
            f"{len(who)} comparisons of {len(names)} participant: none can be held out while "
            "others train; at least 2 participants are needed"
        )
    used = min(folds, len(names))
    notes = []
    if used < folds:
        notes.append(f"{folds} folds wanted, but {len(names)} participants: {used} folds")
    fold = np.empty((repeats, len(who)), np.int64)
    inside = np.full((repeats, used, len(who)), -1, np.int64)
    fewest = inner
    for repeat in range(repeats):
        outer = _dealt(len(names), used, (seed, repeat, 0))
        fold[repeat] = outer[who]
        for held in range(used):
            left = np.flatnonzero(outer != held)
            number = min(inner, len(left))
            fewest = min(fewest, number)
            of_name = np.full(len(names), -1)
            of_name[left] = _dealt(len(left), number, (seed, repeat, held + 1))
            inside[repeat, held] = of_name[who]
    if fewest < inner:
        notes.append(f"{inner} inner folds wanted: as few as {fewest}, for want of participants")
    return Splits(tuple(map(str, participants)), fold, inside, used, tuple(notes))


def held_out(
    x: Vector,
    y: Vector,
    splits: Splits,
    grid: Sequence[float] = GRID,
    others: tuple[Vector, Sequence[str]] | None = None,
) -> HeldOut:
    """Predict every comparison by models that never saw its participant.

    `x` (n, d) are features, `y` (n,) is 1 where memory was preferred, else 0. `others` are the
    features (m, d) and participants (m,) of comparisons that train nothing (ties): those of a
    participant who trains are predicted in their folds, those of strangers by every fold's model.
    """
    x, y, costs = np.asarray(x, float), np.asarray(y, float), np.array(sorted(grid), float)
    repeats = len(splits.fold)
    extra = others[0] if others else np.empty((0, x.shape[1]))
    each = np.empty((repeats, len(x)))
    total, times = np.zeros(len(extra)), np.zeros(len(extra))
    chosen = np.full((repeats, splits.folds), np.nan)
    told: Counter[str] = Counter()
    for repeat, fold in enumerate(splits.fold):
        place = dict(zip(splits.participants, fold.tolist(), strict=True))
        at = np.array([place.get(one, -1) for one in others[1]] if others else [], np.int64)
        for held in range(splits.folds):
            train, test, more = fold != held, fold == held, (at == held) | (at < 0)
            rows = np.concatenate([x[test], extra[more]])
            found, chosen[repeat, held] = predicted(
                x, y, train, rows, (splits.inner[repeat, held], costs), told
            )
            each[repeat, test] = found[: test.sum()]
            total[more] += found[test.sum() :]
            times[more] += 1
    return HeldOut(each.mean(axis=0), each, total / times, chosen, dict(told))


def predicted(
    x: Vector,
    y: Vector,
    train: npt.NDArray[np.bool_],
    rows: Vector,
    inside: tuple[Whole, Vector],
    told: Counter[str] | None = None,
) -> tuple[Vector, float]:
    """One outer fold: probabilities for `rows` (m, d) from the training rows, and the C they were
    made with (NaN where nothing was fitted).

    `inside` are the inner folds (n,) and the grid of C, ascending; `told` counts what was odd.
    """
    inner, grid = inside
    told = Counter() if told is None else told
    labels = y[train]
    if np.ptp(labels) == 0:
        told[ONE_CLASS] += 1
        return np.full(len(rows), (labels.sum() + 1) / (len(labels) + 2)), float("nan")
    cost = _choice(x[train], labels, inner[train], grid, told)
    scale = scale_of(x[train])
    weights, intercept = fit_path(scale(x[train]), labels, np.array([cost]))
    return expit(scale(rows) @ weights[0] + intercept[0]), cost


def _choice(x: Vector, y: Vector, inner: Whole, grid: Vector, told: Counter[str]) -> float:
    """The C of the highest mean accuracy over the inner folds; of equal ones the smallest."""
    if inner.max() < 1:
        told[NO_CHOICE] += 1
        return float(grid[0])
    accuracy = np.empty((inner.max() + 1, len(grid)))
    for held in range(len(accuracy)):
        train, test = inner != held, inner == held
        if np.ptp(y[train]) == 0:
            told[ONE_CLASS_INNER] += 1
            accuracy[held] = (y[test] == y[train][0]).mean()
            continue
        scale = scale_of(x[train])
        weights, intercept = fit_path(scale(x[train]), y[train], grid)
        prefers = weights @ scale(x[test]).T + intercept[:, None] > 0
        accuracy[held] = (prefers == (y[test] == 1)).mean(axis=1)
    means = accuracy.mean(axis=0)
    best = np.flatnonzero(means >= means.max() - EVEN)
    if len(best) > 1:
        told[TIED] += 1
    return float(grid[best[0]])


def _dealt(number: int, folds: int, seed: tuple[int, int, int]) -> Whole:
    """Folds (number,) of so many participants, dealt like cards after a shuffle."""
    dealt = np.empty(number, np.int64)
    dealt[np.random.default_rng(seed).permutation(number)] = np.arange(number) % folds
    return dealt
