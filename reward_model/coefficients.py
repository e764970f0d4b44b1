"""Standardised coefficients with intervals that resample participants (SPEC B.2, CASES 42).

Two fits are asked for. The *descriptive* one has no penalty (C None): what its intervals hold is
the same fit on ever more comparisons. The *shrunken* one has the model's C: its intervals say how
it varies, around values that the penalty has drawn towards 0, and so may miss the descriptive ones.
Both are per standard deviation of the feature, worked out anew in every resample.

Which interval, was decided by simulation (`tests/bench/bench_reward_simulation.py`: 200 worlds a
row, of our own simulator with its default options, strong preferences only). Coverage of the
descriptive fit in per cent of nominal 95 %, mean over the coefficients; the truth is the fit on
10^6 comparisons of the same world:

    comparisons, participants   bca   jackknife  sandwich  percentile
    291 of 87                   96.4  95.8       94.9      93.7
    821 of 87                   95.2  95.2       94.9      94.3
    291 of 25                   95.9  96.3       95.0      93.2
    291 of 12                   93.1  95.4       93.8      89.5

The default is BCa (Efron 1987): it resamples whole participants, follows the lopsided spread of
large coefficients, and corrects for the bias away from 0 that an unpenalised fit of a dozen
features has, which the percentile interval doubles. Of fewer than 30 participants the jackknife
(each participant left out in turn, Student's t) is taken: it still covers at 12.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from reward_model.logistic import fit_path, scale_of
from reward_model.resampling import INTERVALS, Bounds, Fit, Rows
from reward_model.rubric import RUBRIC
from reward_model.separation import undetermined
from workbench.errors import DataError, UsageError
from workbench.schema import Record

__all__ = [
    "Coefficient",
    "Coefficients",
    "Resampling",
    "bootstrap_coefficients",
    "standardised_fit",
]

Vector = npt.NDArray[np.float64]

LEAST = 100  # resamples, with which a tail still has a few
FEW = 30  # participants, below which the jackknife covers better than BCa


class Resampling(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How intervals are made: one of `resampling.INTERVALS` (None: bca, or jackknife for fewer than
    30 participants), from `resamples` seeded draws of participants, at a level."""

    interval: str | None = None
    resamples: int = 1000
    seed: int = 0
    level: float = 0.95

    def chosen(self, participants: int) -> str:
        return self.interval or ("bca" if participants >= FEW else "jackknife")


class Coefficient(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One feature's weight in log odds per standard deviation, with its interval.

    `beta` is None where the data do not determine it, `lo` and `hi` where no interval can be told;
    the table's notes say why. `memory` is None for a feature that the rubric lacks.
    """

    feature: str
    beta: float | None
    lo: float | None
    hi: float | None
    memory: bool | None


class Coefficients(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The coefficients of a fit in the order of its features; iterating gives the rows.

    `C` None is the descriptive fit, a finite C the shrunken one. `intercept` is the log odds of
    preferring memory where every feature is at its mean. `failed` counts resamples without a
    finite fit.
    """

    rows: tuple[Coefficient, ...]
    intercept: float | None
    C: float | None
    n: int
    participants: int
    interval: str
    level: float
    resamples: int
    failed: int = 0
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Coefficient]:
        return iter(self.rows)


def bootstrap_coefficients(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    participants: Sequence[str] | None,
    features: Sequence[str],
    C: float | None = None,  # noqa: N803 - scikit-learn's name, and the paper's
    how: Resampling | None = None,
) -> Coefficients:
    """Coefficients of the fit to x (n, d), y (n,) of 0 and 1, with intervals over `participants`.

    `participants` (n,) None: no intervals. `features` names the d columns. C None fits without
    penalty; with a C it is SPEC B.2's fit. Separated classes, and columns that follow from others,
    leave the descriptive fit undetermined: then every beta is None; in either fit a note says so.
    A constant column has 0. Raises DataError for one class or values that are no numbers,
    UsageError for shapes or settings that cannot be meant.
    """
    how = _checked(how or Resampling(), C)
    matrix, labels = _training(x, y, participants, features)
    rows = Rows(scale_of(matrix)(matrix), labels, _groups(participants, len(labels)), C)
    constant = np.ptp(matrix, axis=0) == 0
    # A linear programme a fit is too much for the thousands of fits of a protocol.
    asked = C is None or participants is not None
    why = undetermined(rows.z[:, ~constant], labels) if asked else ""
    beta, intercept = np.full(len(features), np.nan), np.nan
    if not why or C is not None:
        beta, intercept = standardised_fit(matrix, labels, C)
    fit = Fit(rows, beta, intercept, how.resamples, how.seed)
    bounds = _bounds(fit, how) if participants is not None else _nothing(fit)
    return Coefficients(
        rows=_rows(features, fit.beta, bounds, constant),
        intercept=_told(fit.intercept),
        C=C,
        n=len(labels),
        participants=rows.groups if participants is not None else 0,
        interval=how.chosen(rows.groups) if participants is not None else "",
        level=how.level,
        resamples=how.resamples,
        failed=bounds.failed,
        notes=tuple(filter(None, (_of_constants(features, constant), why, bounds.trouble))),
    )


def _rows(
    features: Sequence[str], beta: Vector, bounds: Bounds, constant: npt.NDArray[np.bool_]
) -> tuple[Coefficient, ...]:
    lo, hi = (np.where(constant, np.nan, ends) for ends in (bounds.lo, bounds.hi))
    return tuple(
        Coefficient(
            feature=name,
            beta=_told(beta[at]),
            lo=_told(lo[at]),
            hi=_told(hi[at]),
            memory=RUBRIC[name].memory if name in RUBRIC else None,
        )
        for at, name in enumerate(features)
    )


def _groups(participants: Sequence[str] | None, n: int) -> npt.NDArray[np.int64]:
    """Numbers of participants (n,); one for all where they are not told."""
    names = np.zeros(n) if participants is None else np.asarray(participants, dtype=str)
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def standardised_fit(
    x: Vector,
    y: Vector,
    C: float | None = None,  # noqa: N803
) -> tuple[Vector, float]:
    """Coefficients (d,) per standard deviation of x (n, d), and the intercept; C None: no penalty.

    Both classes must occur, and without penalty the fit must exist. Raises ModelError where it is
    not reached.
    """
    scale = scale_of(x)
    constant = np.ptp(x, axis=0) == 0
    beta = np.zeros(x.shape[1])
    grid = np.array([np.inf if C is None else C])
    weights, intercepts = fit_path(scale(x)[:, ~constant], y, grid)
    beta[~constant] = weights[0]
    return beta, float(intercepts[0])


def _bounds(fit: Fit, how: Resampling) -> Bounds:
    if np.isnan(fit.intercept):
        return _nothing(fit)
    if fit.rows.groups < 2:
        return _nothing(fit, "one participant: no interval over participants")
    return INTERVALS[how.chosen(fit.rows.groups)](fit, how.level)


def _nothing(fit: Fit, why: str = "") -> Bounds:
    unknown = np.full(fit.beta.shape, np.nan)
    return Bounds(unknown, unknown, 0, why)


def _training(
    x: npt.ArrayLike, y: npt.ArrayLike, participants: Sequence[str] | None, features: Sequence[str]
) -> tuple[Vector, Vector]:
    matrix, labels = np.asarray(x, np.float64), np.asarray(y, np.float64)
    shape = (labels.size if participants is None else len(participants), len(features))
    if matrix.shape != shape or labels.shape != shape[:1] or not shape[1]:
        raise UsageError(
            f"features of shape {matrix.shape} and labels of shape {labels.shape} do not fit "
            f"{shape[0]} comparisons (each with its participant) and {shape[1]} names"
        )
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise DataError(
            f"comparison {row} has {matrix[row, column]} as {features[column]}: leave it out, or "
            "score it"
        )
    positive = int((labels == 1).sum())
    if positive + int((labels == 0).sum()) != len(labels):
        raise DataError("labels are 1 (memory preferred) and 0; leave ties out")
    if positive in (0, len(labels)):
        told = f"{positive} of {len(labels)} comparisons prefer memory"
        raise DataError(f"{told}: a fit needs both classes")
    return matrix, labels


def _checked(how: Resampling, cost: float | None) -> Resampling:
    if cost is not None and not 0 < cost < np.inf:
        raise UsageError(f"C must be above 0 and finite (None: no penalty), not {cost}")
    if how.interval is not None and how.interval not in INTERVALS:
        raise UsageError(f"no interval {how.interval!r}; there are {', '.join(INTERVALS)}")
    if how.resamples < LEAST or not 0 < how.level < 1:
        raise UsageError(
            f"at least {LEAST} resamples and a level between 0 and 1 make an interval, not "
            f"{how.resamples} and {how.level}"
        )
    return how


def _of_constants(features: Sequence[str], constant: npt.NDArray[np.bool_]) -> str:
    named = ", ".join(name for name, one in zip(features, constant, strict=True) if one)
    return (
        named and f"{named}: the same in every comparison, so its coefficient is 0 and says nothing"
    )


def _told(value: float) -> float | None:
    """A number, or None where it is none."""
    return float(value) if np.isfinite(value) else None
