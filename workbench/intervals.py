"""Intervals of means over questions that come in conversations: the method, and why this one.

Questions on one conversation are alike, so intervals treat *conversations* (clusters: scopes) as
what was sampled. Which interval, was decided by simulation (`tests/bench/bench_intervals.py`; 4,000
worlds a row for ours, 1,000 for its rivals): conversations of LoCoMo's sizes (81..199 questions),
values 0, 1/2 and 1, intra-conversation correlations (ICC) about those of LoCoMo's recall@25 with
MiniLM: .024 dense, .035 with a centroid prior, .003 hybrid; .005 to .010 for paired differences.
Coverage in per cent of nominal 95 %, and in brackets the mean width of ours:

    conversations, values, ICC  ours         questions percentile BCa  two-stage CR1  CR3  wild t
    10  mean .58        0       95.1 (.052)  95.9      89.1       89.0 99.4      94.9 96.1 95.1
    10  mean .58        .02     94.8 (.106)  65.3      89.8       89.2 93.2      93.9 95.0 94.2
    10  mean .58        .10     94.6 (.216)  35.9      89.8       89.5 90.5      92.7 93.9 93.0
    10  the same, skew  .05     93.2 (.154)  48.6      88.3       88.1 91.0      92.8 93.7 93.2
    10  mean .90        .02     93.5 (.064)  65.7      87.9       87.4 93.2      93.0 94.1 93.2
    10  difference .03  .01     94.2 (.072)  77.3      88.7       87.8 94.4      93.3 94.3 93.6
     8  mean .58        .02     95.5 (.121)  65.6      88.5       88.4 93.4      94.3 95.3 94.5
     8  the same, skew  .05     92.0 (.176)  44.7      86.5       87.3 90.1      92.3 93.8 92.3
     8  difference .03  .01     95.5 (.081)  74.5      87.3       87.8 95.1      95.2 96.0 95.0
     5  mean .58        .02     95.0 (.184)  67.0      84.8       83.8 92.4      94.9 96.5 95.7
     3  mean .58        .02     95.2 (.331)  64.3      75.5       74.4 86.7      94.9 96.7 90.3
    one of 200 questions and five of 20:
     6  mean .58        .02     96.2 (.317)  69.5      85.3       85.1 96.6      80.5 91.9 75.4
     6  difference .03  .01     96.5 (.235)  78.7      84.8       84.7 96.7      82.3 92.1 73.8

Ours is the t interval of the linearised mean with the CR2 correction and Satterthwaite's degrees of
freedom (Bell & McCaffrey 2002; Pustejovsky & Tipton 2018): the only one that covers 92-98 % in
every row, for means and paired differences, from 10 conversations down to 3, of like and of unlike
sizes. Bootstraps of questions ignore the clusters; of so few clusters percentile and BCa ones are
too narrow; the two-stage one is too wide without correlation and too narrow with it; CR1 and CR3 (t
with G - 1 degrees of freedom) and the wild bootstrap-t do well on conversations of like size only.
So it is a formula, and nothing is drawn.

Fewer than 1.5 degrees of freedom (one conversation, two, three of very unequal size) would make it
useless: there every question is its own cluster, which is Student's t, and `basis` says
"questions". It then holds the mean of *these* conversations (two: 95 %), and says nothing on
others: theirs it would hold in 66 to 85 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from workbench.errors import UsageError

__all__ = ["Basis", "Intervals", "column_intervals"]

Basis = Literal["conversations", "questions"]
Vector = npt.NDArray[np.float64]

# With fewer degrees of freedom a t interval is wider than any use it could have.
LEAST_FREEDOM = 1.5
# Values this close are equal but for rounding.
TINY = 1e-12


class Intervals(NamedTuple):
    """Mean, bounds (infinite where nothing tells them) and basis of each column (m,)."""

    mean: Vector
    lo: Vector
    hi: Vector
    basis: list[Basis]


class _Grouping(NamedTuple):
    """Questions in the order of their clusters, and the t quantile that goes with their sizes."""

    order: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]
    sizes: Vector
    quantile: float


def column_intervals(
    matrix: Vector, clusters: Sequence[str], level: float, bounds: tuple[float, float] | None
) -> Intervals:
    """The interval of each column of `matrix` (n, m) over `clusters` (n,).

    `bounds` are the range of the values, None where unknown: intervals stay within it, and columns
    of equal values get the Clopper-Pearson bound on how many differing ones there may be.
    """
    if not 0 < level < 1:
        raise UsageError(f"the level of an interval lies between 0 and 1, not {level}")
    n = len(matrix)
    mean = matrix.mean(axis=0)
    equal = np.ptp(matrix, axis=0) <= TINY
    half = np.full(mean.shape, np.inf)
    grouping = _grouping(clusters, level)
    by_cluster = ~equal & (grouping.quantile < np.inf)
    half[by_cluster] = _half_width(matrix[:, by_cluster], mean[by_cluster], grouping)
    # Clusters that happen to agree to the last digit say nothing on how much they may differ.
    by_question = ~equal & ((half == np.inf) | (half <= TINY))
    single = _grouping([str(row) for row in range(n)], level) if by_question.any() else grouping
    half[by_question] = _half_width(matrix[:, by_question], mean[by_question], single)
    lo, hi = mean - half, mean + half
    if bounds is not None:
        share = ((1 - level) / 2) ** (1 / n)
        lo[equal] = mean[equal] * share + bounds[0] * (1 - share)
        hi[equal] = mean[equal] * share + bounds[1] * (1 - share)
        lo, hi = lo.clip(*bounds), hi.clip(*bounds)
    told = by_cluster & ~by_question
    basis: list[Basis] = ["conversations" if one else "questions" for one in told]
    return Intervals(mean, lo, hi, basis)


def _grouping(clusters: Sequence[str], level: float) -> _Grouping:
    """The quantile is infinite where the clusters leave too few degrees of freedom.

    Satterthwaite's degrees of freedom of the CR2 variance of a mean, for clusters that hold the
    shares w of the questions: 1 / (sum w^2 + (sum s)^2 - sum s^2) with s = w^2 / (1 - w); G - 1
    where all are of one size.
    """
    _, group, sizes = np.unique(np.asarray(clusters), return_inverse=True, return_counts=True)
    order = np.argsort(group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    if len(sizes) < 2:
        return _Grouping(order, starts, sizes.astype(float), float("inf"))
    w = sizes / sizes.sum()
    s = w**2 / (1 - w)
    freedom = 1 / ((w**2).sum() + s.sum() ** 2 - (s**2).sum())
    few = freedom < LEAST_FREEDOM and len(sizes) < len(group)
    quantile = float("inf") if few else float(stdtrit(freedom, (1 + level) / 2))
    return _Grouping(order, starts, sizes.astype(float), quantile)


def _half_width(matrix: Vector, mean: Vector, grouping: _Grouping) -> Vector:
    """t quantile times the CR2 standard error of each column's mean."""
    sums = np.add.reduceat(matrix[grouping.order], grouping.starts, axis=0)
    n = grouping.sizes.sum()
    off = (sums - grouping.sizes[:, None] * mean) / np.sqrt(1 - grouping.sizes / n)[:, None]
    return np.asarray(grouping.quantile * np.sqrt((off**2).sum(axis=0)) / n)
