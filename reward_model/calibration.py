"""What predicted probabilities are worth: accuracy with ties, selective accuracy, calibration.

Everywhere `p` (n,) are held-out probabilities of preferring memory and `y` (n,) says whether it was
preferred (1 or 0). Intervals treat participants as what was sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.stats import mean_interval

__all__ = [
    "TOLERANCE",
    "IfCalibrated",
    "area_under_curve",
    "calibration_error",
    "choice",
    "credit",
    "defined",
    "error_if_calibrated",
    "most_certain",
    "quality_of",
    "reliability",
    "resampled_interval",
    "selective",
]

Vector = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

TOLERANCE = 1e-9  # a probability this near 1/2 is no choice
BINS = 10  # of equal width
RESAMPLES = 1000
BLOCK = 2_000_000  # weights at a time, which bounds the memory
DEFINED = 0.95  # of resamples must give a value
DRAWS = 500


def credit(p: npt.ArrayLike, y: npt.ArrayLike) -> Vector:
    """1 for a right prediction, 0 for a wrong one, 1/2 for none (n,).

    A model's tie, a probability within `TOLERANCE` of 1/2, is worth 1/2: a constant model gets
    0.5, not 1. `y` is 1, 0, or NaN for a human tie, which is worth 1/2 whatever was predicted:
    it is neither dropped nor forced to a side, and a coin does no better or worse on it.
    """
    chance, said = np.asarray(p, float), np.asarray(y, float)
    right = np.where((chance > 0.5) == (said == 1), 1.0, 0.0)
    undecided = (np.abs(chance - 0.5) <= TOLERANCE) | np.isnan(said)
    return np.where(undecided, 0.5, right)


def choice(p: float) -> bool | None:
    """Whether a probability says that memory is preferred; None where it is a tie, as `credit`
    has it."""
    return None if abs(p - 0.5) <= TOLERANCE else p > 0.5


def area_under_curve(p: Vector, y: Vector, weights: Vector | None = None) -> Vector:
    """Area under the ROC curve, pooled over all comparisons; equal probabilities count half.

    Like all that takes `weights` (r, n), how often each comparison occurs in r resamples, it gives
    r values; without, one. NaN where all labels are of one class: it is not defined there.
    """
    order = np.argsort(p, kind="stable")
    starts = np.flatnonzero(np.diff(p[order], prepend=-1.0))
    given = _weights(p, weights)[:, order]
    positive = np.add.reduceat(given * y[order], starts, axis=1)
    negative = np.add.reduceat(given * (1 - y[order]), starts, axis=1)
    below = np.cumsum(negative, axis=1) - negative / 2
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    area = np.full(len(pairs), np.nan)
    return np.divide((positive * below).sum(axis=1), pairs, out=area, where=pairs > 0)


def calibration_error(
    p: Vector, y: Vector, weights: Vector | None = None, bins: int = BINS
) -> Vector:
    """Expected calibration error: |share preferring memory - mean p| over `bins` bins of equal
    width, weighted by their comparisons."""
    place = _bin(p, bins)
    given = _weights(p, weights)
    off = [np.abs(given[:, place == one] @ (y - p)[place == one]) for one in np.unique(place)]
    return np.asarray(np.sum(off, axis=0) / given.sum(axis=1))


class IfCalibrated(NamedTuple):
    """The calibration errors of true probabilities: their mean, and the ends of 95 % of them."""

    mean: float
    lo: float
    hi: float


def error_if_calibrated(p: Vector, seed: int = 0) -> IfCalibrated:
    """The calibration error that these probabilities would show if they were true.

    It is above 0, because a bin of few comparisons is off by chance: what an observed error is to
    be compared with. The error has no interval of its own, as resampling adds such chance once
    more: an interval of it lies above the true error, and misses 0 where 0 is the truth.
    """
    rng = np.random.default_rng(seed)
    drawn = (rng.random((DRAWS, len(p))) < p).astype(float)
    errors = [calibration_error(p, row)[0] for row in drawn]
    lo, hi = np.quantile(errors, [0.025, 0.975])
    return IfCalibrated(float(np.mean(errors)), float(lo), float(hi))


def quality_of(p: Vector, y: Vector, who: Sequence[str], seed: int) -> dict[str, Any]:
    """Brier score and pooled area under the curve with their intervals; calibration error with the
    range of what a calibrated model of these probabilities would show."""
    brier = mean_interval((p - y) ** 2, who)
    area = resampled_interval(lambda given: area_under_curve(p, y, given), who, seed)
    return {
        "n": len(y),
        "brier": brier.mean,
        "brier_interval": [brier.lo, brier.hi],
        "ece": float(calibration_error(p, y)[0]),
        "ece_if_calibrated": error_if_calibrated(p, seed)._asdict(),
        "auc": defined(area_under_curve(p, y)[0]),
        "auc_interval": [defined(one) for one in area],
    }


def reliability(
    p: Vector, y: Vector, participants: Sequence[str], bins: int = BINS
) -> list[dict[str, Any]]:
    """One row for each bin that holds something: `bin_lo, bin_hi, mean_p, share` (who preferred
    memory) with its interval `lo, hi`, and `n`."""
    place, names = _bin(p, bins), np.asarray(participants)
    rows = []
    for number in np.unique(place).tolist():
        inside = place == number
        share = mean_interval(y[inside], names[inside].tolist())
        rows.append(
            {
                "bin_lo": number / bins,
                "bin_hi": (number + 1) / bins,
                "mean_p": float(p[inside].mean()),
                "share": share.mean,
                "lo": share.lo,
                "hi": share.hi,
                "n": share.n,
            }
        )
    return rows


def most_certain(p: Vector, ids: Sequence[str], coverage: float) -> Whole:
    """Places of the share `coverage` of comparisons with the largest |p - 0.5| (SPEC B.4).

    Rounded up to whole comparisons; of equally certain ones those whose id comes first.
    """
    # Certainties that differ by rounding only are equal; then the id decides.
    certainty = np.round(np.abs(p - 0.5) / TOLERANCE)
    order = np.lexsort((np.asarray(ids, dtype=str), -certainty))
    return np.asarray(order[: _number(coverage, len(p))], dtype=np.int64)


def selective(
    p: Vector,
    credits: Vector,
    ids: Sequence[str],
    coverages: Sequence[float],
    weights: Vector | None = None,
) -> Vector:
    """Accuracy among the most certain (r, k), at k coverages.

    A resample chooses its own most certain ones again; the comparison at the edge, which may occur
    several times, enters in part.
    """
    order = most_certain(p, ids, 1.0)
    given = _weights(p, weights)[:, order]
    reached = np.cumsum(given, axis=1)
    found = np.empty((len(given), len(coverages)))
    for place, coverage in enumerate(coverages):
        number = np.maximum(1, np.ceil(coverage * reached[:, -1:] - TOLERANCE))
        inside = np.clip(number - (reached - given), 0, given)
        found[:, place] = (inside @ credits[order]) / number[:, 0]
    return found


def resampled_interval(
    statistic: Callable[[Vector], Vector], participants: Sequence[str], seed: int = 0
) -> tuple[Vector, Vector]:
    """95 % percentile interval of what is no mean, by resampling participants with all their rows.

    `statistic` takes weights (r, n) and gives (r,) or (r, k) values. NaN ends where there are fewer
    than 2 participants, or where it is undefined (NaN) in more than one resample of twenty.
    """
    names, who = np.unique(np.asarray(participants, dtype=str), return_inverse=True)
    rng = np.random.default_rng(seed)
    values = []
    block = max(1, BLOCK // len(who))
    for start in range(0, RESAMPLES, block):
        drawn = rng.integers(len(names), size=(min(block, RESAMPLES - start), len(names)))
        counts = np.zeros((len(drawn), len(names)))
        np.add.at(counts, (np.arange(len(drawn))[:, None], drawn), 1.0)
        values.append(statistic(counts[:, who]))
    found = np.concatenate(values)
    defined = np.isfinite(found).mean(axis=0)
    if len(names) < 2 or (defined < DEFINED).any():
        return np.full(defined.shape, np.nan), np.full(defined.shape, np.nan)
    lo, hi = np.nanquantile(found, [0.025, 0.975], axis=0)
    return np.asarray(lo), np.asarray(hi)


def defined(value: npt.ArrayLike) -> float | None:
    """A number, or None where it is undefined."""
    number = float(np.asarray(value))
    return number if np.isfinite(number) else None


def _weights(p: Vector, weights: Vector | None) -> Vector:
    return np.ones((1, len(p))) if weights is None else weights


def _number(coverage: float, n: int) -> int:
    """How many comparisons a coverage of n is: rounded up, never none."""
    return max(1, int(np.ceil(coverage * n - TOLERANCE)))


def _bin(p: Vector, bins: int) -> Whole:
    return np.minimum((p * bins).astype(np.int64), bins - 1)
