"""Means with intervals, paired differences with tests, Holm's correction.

Thin wrappers: the intervals are `workbench.intervals`' (chosen by simulation, told there), t
quantiles are SciPy's. Sign flips are one product of NumPy's: `scipy.stats.permutation_test` gives
the same p (the tests hold them together) but takes seconds a measure for 1,540 questions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from workbench.errors import UsageError
from workbench.intervals import TINY, Basis, Vector, column_intervals
from workbench.schema import Record

__all__ = [
    "EQUAL",
    "Basis",
    "Difference",
    "Estimate",
    "holm",
    "interval_matrix",
    "mean_interval",
    "paired_difference",
]

# Scores are fractions of a few pieces of evidence; smaller differences are rounding.
EQUAL = 1e-12
# Sign flips of a permutation test; all of them where there are no more.
FLIPS = 9_999
# Flips worked out at a time, which bounds the memory.
BLOCK = 1_000


class Estimate(Record, frozen=True, kw_only=True):
    """A mean over `n` questions of `clusters` conversations, with its interval.

    `lo` and `hi` are None where the values tell nothing on their spread: all equal (or one alone),
    and of no known range.
    """

    mean: float
    lo: float | None
    hi: float | None
    n: int
    clusters: int
    basis: Basis


class Difference(Record, frozen=True, kw_only=True):
    """A mean paired difference with its interval and the p of its permutation test.

    The interval is about further conversations (see `basis`), p about these questions: with few
    conversations a difference can be significant here while its interval includes 0.
    """

    difference: float
    lo: float | None
    hi: float | None
    p: float
    n: int
    clusters: int
    basis: Basis


def mean_interval(
    values: npt.ArrayLike, clusters: Sequence[str], *, level: float = 0.95
) -> Estimate:
    """The mean of `values` (n,) with its interval over `clusters` (n,), by the module's method.

    Values that all lie in 0..1 are taken to have that range: the interval stays in it. Values that
    are all equal then get the exact (Clopper-Pearson) bound on how many differing ones there may
    be: five ones give .48..1, not 1..1. Nothing is drawn. Raises UsageError for no values, values
    that are no numbers, or not one cluster a value.
    """
    column = _checked(values, clusters, 1)
    mean, lo, hi, basis = column_intervals(column[:, None], clusters, level, _range(column))
    return Estimate(
        mean=float(mean[0]),
        lo=_finite(lo[0]),
        hi=_finite(hi[0]),
        n=len(column),
        clusters=len(set(clusters)),
        basis=basis[0],
    )


def paired_difference(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    clusters: Sequence[str],
    *,
    seed: int = 0,
    level: float = 0.95,
) -> Difference:
    """`a` minus `b` (n,), question by question: mean, interval as in `mean_interval`, p.

    p is two-sided, by flipping the signs of the differences: all ways of it where these are fewer
    than 10,000, else 9,999 seeded ones and p = (r + 1) / (9,999 + 1). Identical runs have p = 1.
    Raises UsageError as `mean_interval` does.
    """
    first, second = _checked(a, clusters, 1), _checked(b, clusters, 1)
    gaps = first - second
    bounds = (-1.0, 1.0) if _range(first) and _range(second) else None
    mean, lo, hi, basis = column_intervals(gaps[:, None], clusters, level, bounds)
    return Difference(
        difference=float(mean[0]),
        lo=_finite(lo[0]),
        hi=_finite(hi[0]),
        p=_permutation_p(gaps, seed),
        n=len(gaps),
        clusters=len(set(clusters)),
        basis=basis[0],
    )


def interval_matrix(
    values: npt.ArrayLike,
    clusters: Sequence[str],
    *,
    level: float = 0.95,
    differences: bool = False,
) -> tuple[Vector, Vector, Vector]:
    """Means, lower and upper bounds (m,) of many columns (n, m) at once, as `mean_interval`'s.

    The range is that of the whole matrix: 0..1, or -1..1 for `differences` of such values. Bounds
    that can't be told are infinite, never NaN. Raises UsageError as `mean_interval`.
    """
    matrix = _checked(values, clusters, 2)
    bounds = _range(matrix, -1.0, differences)
    mean, lo, hi, _ = column_intervals(matrix, clusters, level, bounds)
    return mean, lo, hi


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's adjusted p of every p of one family, in the given order (Holm 1979)."""
    wrong = [p for p in ps if not 0 <= p <= 1]
    if wrong:
        raise UsageError(f"p must lie in 0..1, not {wrong[0]}")
    adjusted = [1.0] * len(ps)
    least = 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        least = max(least, (len(ps) - rank) * ps[place])
        adjusted[place] = min(1.0, least)
    return adjusted


def _permutation_p(gaps: Vector, seed: int) -> float:
    """Two-sided p of the mean of `gaps` (n,) under flips of their signs; zeros have no sign."""
    moved = gaps[np.abs(gaps) > TINY]
    exact = 2 ** len(moved) <= FLIPS + 1
    total = 2 ** len(moved) if exact else FLIPS
    # Sums that equal the observed one but for rounding count as reaching it.
    reached = abs(moved.sum()) - TINY * np.abs(moved).sum()
    rng = np.random.default_rng(seed)
    hits = 0
    for start in range(0, total, BLOCK):
        rows = min(BLOCK, total - start)
        flipped = _every_flip(start, rows, len(moved)) if exact else _flips(rng, rows, len(moved))
        sums = moved.sum() - 2 * (flipped.astype(np.float64) @ moved)
        hits += int((np.abs(sums) >= reached).sum())
    return hits / total if exact else (hits + 1) / (total + 1)


def _every_flip(start: int, rows: int, n: int) -> npt.NDArray[np.uint8]:
    """Rows of all ways to choose among n signs, from number `start` on: (rows, n) of 0 and 1."""
    numbers = np.arange(start, start + rows)[:, None]
    return (numbers >> np.arange(n) & 1).astype(np.uint8)


def _flips(rng: np.random.Generator, rows: int, n: int) -> npt.NDArray[np.uint8]:
    """Random such rows, drawn as bits: 16 million signs in a fraction of a second."""
    drawn = rng.integers(256, size=(rows, -(-n // 8)), dtype=np.uint8)
    return np.unpackbits(drawn, axis=1, count=n)


def _checked(values: npt.ArrayLike, clusters: Sequence[str], dimensions: int) -> Vector:
    """The values as floats, where there are some and each has its cluster."""
    array = np.asarray(values, np.float64)
    if array.ndim != dimensions:
        raise UsageError(f"statistics take {dimensions} dimensions of values, not {array.ndim}")
    if not len(array):
        raise UsageError("there are no values: nothing to estimate")
    if len(array) != len(clusters):
        raise UsageError(f"{len(array)} values but {len(clusters)} clusters")
    if not np.isfinite(array).all():
        raise UsageError("some values are not finite numbers: exclude and count them before")
    return array


def _range(values: Vector, least: float = 0.0, signed: bool = False) -> tuple[float, float] | None:
    """`least`..1 for signed values; else 0..1, or `least`..1 where a value is negative. None where
    a value lies outside."""
    if values.max(initial=0.0) > 1 or values.min(initial=0.0) < least:
        return None
    return (0.0, 1.0) if values.min(initial=0.0) >= 0 and not signed else (least, 1.0)


def _finite(bound: float) -> float | None:
    return float(bound) if np.isfinite(bound) else None
